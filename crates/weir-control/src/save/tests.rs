use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use weir_config::{load, parse_rule};

const FILE: &str = "# mine
[[server]]
name = \"db1\"
address = \"127.0.0.1:3306\"

[[rule]]
name = \"one\" # the first
match = { table = \"a\" }
";

struct Folder {
    folder: tempfile::TempDir,
    reloader: Reloader,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weir.toml");
        fs::write(&path, FILE).unwrap();
        let reloader = Reloader::new(path.clone(), load(&path).unwrap());
        Self { folder, reloader }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("weir.toml")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    /// Adds a rule of this name.
    fn add(&mut self, name: &str) -> Result<(), SaveError> {
        let mut rules = self.reloader.current.rules.clone();
        rules.push(rule(name));
        let plan = self.reloader.plan_rules(&rules)?;
        self.reloader.save_rules(plan)
    }
}

fn rule(name: &str) -> Rule {
    parse_rule("rule", &format!("name = \"{name}\"\nmatch = {{}}\ncache = {{ ttl = \"5s\" }}\n")).unwrap()
}

#[test]
fn a_rule_is_added_to_the_file_and_all_else_stays() {
    let mut at = Folder::new();
    fs::set_permissions(at.path(), fs::Permissions::from_mode(0o640)).unwrap();
    let inode = fs::metadata(at.path()).unwrap().ino();
    at.add("two").unwrap();
    let text = at.text();
    assert!(text.starts_with(FILE), "{text}");
    assert!(text.ends_with("[[rule]]\nname = \"two\"\nmatch = {}\ncache = { ttl = \"5s\" }\n"), "{text}");
    let found = fs::metadata(at.path()).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o640);
    assert_ne!(found.ino(), inode, "it was written over");
    assert_eq!(fs::read_dir(at.folder.path()).unwrap().count(), 1);
    assert_eq!(at.reloader.current, load(at.path()).unwrap());
}

#[test]
fn its_own_change_is_told_from_others() {
    let mut at = Folder::new();
    assert!(!at.reloader.is_own_change());
    at.add("two").unwrap();
    assert!(at.reloader.is_own_change());
    fs::write(at.path(), at.text() + "\n").unwrap();
    assert!(!at.reloader.is_own_change());
    fs::remove_file(at.path()).unwrap();
    assert!(!at.reloader.is_own_change());
}

#[test]
fn a_file_whose_rules_somebody_has_changed_is_left_alone() {
    for (from, to) in
        [("\"a\"", "\"b\""), ("one", "won"), ("[[rule]]", "[[rule]]\nname = \"x\"\nmatch = {}\n[[rule]]")]
    {
        let mut at = Folder::new();
        let text = FILE.replace(from, to);
        fs::write(at.path(), &text).unwrap();
        let error = at.add("two").unwrap_err();
        assert!(matches!(error, SaveError::Changed(_)), "{error}");
        assert_eq!(at.text(), text);
    }
}

#[test]
fn what_else_was_changed_in_the_file_stays_there_and_waits() {
    let mut at = Folder::new();
    fs::write(at.path(), FILE.replace("# mine", "# mine\n[limits]\nmax_clients = 7\n")).unwrap();
    at.add("two").unwrap();
    assert!(at.text().contains("max_clients = 7\n") && at.text().contains("\"two\""), "{}", at.text());
    assert_ne!(at.reloader.current.limits.max_clients, 7);
}

#[test]
fn a_file_with_errors_is_left_alone() {
    let mut at = Folder::new();
    let text = FILE.to_owned() + "no_such_key = 1\n";
    fs::write(at.path(), &text).unwrap();
    let error = at.add("two").unwrap_err();
    assert!(matches!(&error, SaveError::Bad(said) if said.contains("no_such_key")), "{error}");
    assert_eq!(at.text(), text);
}

#[test]
fn rules_that_are_not_good_together_are_not_written() {
    let mut at = Folder::new();
    let error = at.add("one").unwrap_err();
    assert!(matches!(&error, SaveError::Bad(said) if said.contains("already a rule")), "{error}");
    assert_eq!(at.text(), FILE);
}

#[test]
fn what_cannot_be_written_leaves_everything_as_it_was() {
    let mut at = Folder::new();
    // Not even root can put a file in the place of this one.
    let blocked = at.folder.path().join(".weir.toml.new");
    fs::create_dir(&blocked).unwrap();
    let before = at.reloader.current.clone();
    let error = at.add("two").unwrap_err();
    assert!(matches!(error, SaveError::NotWritten { .. }), "{error}");
    assert_eq!((at.text().as_str(), &at.reloader.current), (FILE, &before));
    fs::remove_dir(blocked).unwrap();
    at.add("two").unwrap();
}

#[test]
fn a_link_stays_a_link() {
    let mut at = Folder::new();
    let real = at.folder.path().join("real.toml");
    fs::rename(at.path(), &real).unwrap();
    symlink(&real, at.path()).unwrap();
    at.add("two").unwrap();
    assert!(fs::symlink_metadata(at.path()).unwrap().is_symlink());
    assert!(fs::read_to_string(real).unwrap().contains("two"));
}
