use super::*;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::thread;
use std::time::Duration;
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

    /// The names of all that is in the folder, in their order.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    /// Adds a rule of this name.
    fn add(&mut self, name: &str) -> Result<(), SaveError> {
        let mut rules = self.reloader.current.rules.clone();
        rules.push(rule(name));
        let plan = self.reloader.plan_rules(HeldFile::take(&self.path())?, &rules, None)?;
        self.reloader.save_rules(plan).map(drop)
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
    assert_eq!(at.names(), ["weir.toml"]);
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
    let folder = tempfile::tempdir().unwrap();
    // Beside a file of so long a name none of a longer one can be made: by root neither, who may write anywhere.
    let path = folder.path().join(format!("{}.toml", "w".repeat(250)));
    fs::write(&path, FILE).unwrap();
    let mut reloader = Reloader::new(path.clone(), load(&path).unwrap());
    let before = reloader.current.clone();
    let rules = [&before.rules[..], &[rule("two")]].concat();
    let plan = reloader.plan_rules(HeldFile::take(&path).unwrap(), &rules, None).unwrap();
    let error = reloader.save_rules(plan).unwrap_err();
    assert!(matches!(error, SaveError::NotWritten { .. }), "{error}");
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), &reloader.current), (FILE, &before));
}

/// Root may write to any file and the folder is its own: what counts is what the file's mode says.
#[test]
fn a_file_that_is_read_only_is_not_changed() {
    let mut at = Folder::new();
    for mode in [0o444, 0o400] {
        fs::set_permissions(at.path(), fs::Permissions::from_mode(mode)).unwrap();
        let error = at.add("two").unwrap_err();
        assert!(matches!(error, SaveError::ReadOnly { .. }), "{error}");
        assert!(error.to_string().contains("nothing was changed"), "{error}");
        let edited = edit_file(&at.path(), |_, text| Ok((Some(format!("{text}# x")), ())));
        assert!(matches!(edited, Err(SaveError::ReadOnly { .. })), "{edited:?}");
        assert_eq!((at.text().as_str(), at.names()), (FILE, vec!["weir.toml".to_owned()]));
    }
    fs::set_permissions(at.path(), fs::Permissions::from_mode(0o600)).unwrap();
    at.add("two").unwrap();
}

#[test]
fn a_change_that_the_disk_does_not_confirm_is_told_as_one() {
    let at = Folder::new();
    let full = |_: &File| Err(io::Error::from_raw_os_error(5));
    let saved = HeldFile::take(&at.path()).unwrap().replace_and(b"# new\n", full).unwrap();
    let told = saved.unsure.unwrap().to_string();
    assert!(told.contains("was changed, but") && told.contains("Input/output error"), "{told}");
    assert_eq!(at.text(), "# new\n");
    let saved = HeldFile::take(&at.path()).unwrap().replace(b"# newer\n").unwrap();
    assert!(saved.unsure.is_none());
}

#[test]
fn what_an_editor_saves_meanwhile_is_not_written_over() {
    let theirs = FILE.replace("# mine", "# theirs");
    for in_place in [false, true] {
        let mut at = Folder::new();
        let before = at.reloader.current.clone();
        let rules = [&before.rules[..], &[rule("two")]].concat();
        let plan = at.reloader.plan_rules(HeldFile::take(&at.path()).unwrap(), &rules, None).unwrap();
        if in_place {
            fs::write(at.path(), &theirs).unwrap();
        } else {
            let new = at.folder.path().join("weir.toml~");
            fs::write(&new, &theirs).unwrap();
            fs::rename(new, at.path()).unwrap();
        }
        let error = at.reloader.save_rules(plan).unwrap_err();
        assert!(matches!(error, SaveError::Changed(_)), "{error}");
        assert_eq!((at.text(), &at.reloader.current), (theirs.clone(), &before));
        assert_eq!(at.names(), ["weir.toml"]);
        // It was about something else than rules, so who tries again succeeds.
        at.add("two").unwrap();
        assert!(at.text().starts_with(&theirs), "{}", at.text());
    }
}

#[test]
fn of_many_who_change_the_file_none_loses_a_change() {
    let at = Folder::new();
    let path = at.path();
    let names: Vec<String> = (0..8).flat_map(|who| (0..5).map(move |n| format!("w{who}-{n}"))).collect();
    thread::scope(|scope| {
        for names in names.chunks(5) {
            let path = &path;
            scope.spawn(move || {
                for name in names {
                    let added = |text: &str| Ok((Some(format!("{text}# {name}\n")), ()));
                    edit_file(path, |_, text| added(text)).unwrap();
                }
            });
        }
    });
    let text = at.text();
    let mut found: Vec<&str> = text.strip_prefix(FILE).unwrap().lines().map(|line| &line[2..]).collect();
    found.sort_unstable();
    assert_eq!(found, names);
    assert_eq!(at.names(), ["weir.toml"]);
}

#[test]
fn who_waits_too_long_for_the_file_is_told() {
    let mut at = Folder::new();
    let lock = File::open(at.folder.path()).unwrap();
    lock.lock().unwrap();
    let error = HeldFile::take_within(&at.path(), Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, SaveError::Locked { .. }), "{error}");
    drop(lock);
    at.add("two").unwrap();
}

#[test]
fn what_was_left_where_a_change_was_cut_off_goes_and_nothing_else() {
    let mut at = Folder::new();
    let others =
        [".weir.toml.new", ".weir.toml.0123456789abcdeF", ".weir.toml.my-old-rules-new.new", "weir.toml~"];
    for name in others.iter().chain(&[".weir.toml.0123456789abcdeF.new"]) {
        fs::write(at.folder.path().join(name), "x").unwrap();
    }
    at.add("two").unwrap();
    let mut expected = [&others[..], &["weir.toml"]].concat();
    expected.sort_unstable();
    assert_eq!(at.names(), expected);
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
