use std::collections::HashSet;
use std::path::Path;

use anyhow::Context;
use syn::visit::Visit;

use super::Finding;

/// Folders with nothing of ours to read: build output, downloads, fuzzing inputs.
const SKIPPED: &[&str] =
    &["target", ".git", "node_modules", ".cache", ".deps", "__pycache__", "corpus", "artifacts", "vendor"];

/// Files that are written by hand, by the end of their name.
const ENDINGS: &[&str] = &[
    ".rs",
    ".md",
    ".toml",
    ".sh",
    ".py",
    ".js",
    ".mjs",
    ".ts",
    ".svelte",
    ".go",
    ".java",
    ".php",
    ".lua",
    ".sql",
    "Makefile",
    "Dockerfile",
];

/// The files of the project that people write.
pub struct Tree {
    pub files: Vec<Source>,
}

pub struct Source {
    /// Relative to the top folder, with `/`.
    pub path: String,
    pub text: String,
    /// Tests and benchmarks: a `tests` or `benches` folder, a `tests.rs`, a module under `#[cfg(test)]`.
    pub is_test: bool,
    /// The syntax tree of a Rust file; the place and message where it does not parse.
    pub rust: Option<Result<syn::File, (usize, String)>>,
}

impl Tree {
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        walk(root, "", &mut files)?;
        Ok(Self::of(files))
    }

    /// Makes a tree of paths and texts.
    pub fn of(files: Vec<(String, String)>) -> Self {
        let mut files: Vec<Source> = files.into_iter().map(|(path, text)| Source::new(path, text)).collect();
        let test_modules: HashSet<String> = files
            .iter()
            .flat_map(|f| f.syntax().map(|s| test_modules(&f.path, s)).unwrap_or_default())
            .collect();
        for file in &mut files {
            let stem = file.path.trim_end_matches(".rs");
            file.is_test |= test_modules.iter().any(|m| stem == m || stem.starts_with(&format!("{m}/")));
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    pub fn unparsed(&self) -> Vec<Finding> {
        let why = "what does not parse cannot be checked";
        let broken = self.files.iter().filter_map(|f| Some((f, f.rust.as_ref()?.as_ref().err()?)));
        broken.map(|(f, (line, error))| Finding::new(&f.path, *line, error, why)).collect()
    }
}

impl Source {
    fn new(path: String, text: String) -> Self {
        let folders: Vec<&str> = path.split('/').collect();
        let is_test =
            folders.iter().any(|f| matches!(*f, "tests" | "benches")) || folders.last() == Some(&"tests.rs");
        let rust = path
            .ends_with(".rs")
            .then(|| syn::parse_file(&text).map_err(|e| (e.span().start().line, e.to_string())));
        Self { path, text, is_test, rust }
    }

    pub fn syntax(&self) -> Option<&syn::File> {
        self.rust.as_ref()?.as_ref().ok()
    }
}

/// Whether attributes say `#[test]` or `#[cfg(test)]`.
pub fn is_test_only(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| match &attr.meta {
        syn::Meta::Path(path) => path.segments.last().is_some_and(|s| s.ident == "test"),
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            let names_test = condition.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == "test");
            names_test && !condition.contains("not")
        }
        syn::Meta::List(list) => list.path.segments.last().is_some_and(|s| s.ident == "test"),
        syn::Meta::NameValue(_) => false,
    })
}

/// The stems of the files that `#[cfg(test)] mod name;` names in this file.
fn test_modules(path: &str, file: &syn::File) -> Vec<String> {
    struct Modules(Vec<String>);
    impl<'ast> Visit<'ast> for Modules {
        fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
            if module.content.is_none() && is_test_only(&module.attrs) {
                self.0.push(module.ident.to_string());
            }
        }
    }
    let mut modules = Modules(Vec::new());
    modules.visit_file(file);
    let stem = path.trim_end_matches(".rs");
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let folder = if matches!(name, "lib" | "main" | "mod") { folder } else { stem };
    modules.0.into_iter().map(|m| format!("{folder}/{m}")).collect()
}

fn walk(root: &Path, folder: &str, files: &mut Vec<(String, String)>) -> anyhow::Result<()> {
    let listing = std::fs::read_dir(root.join(folder)).with_context(|| format!("cannot list {folder:?}"))?;
    for entry in listing {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            walk(root, &path, files)?;
        } else if kind.is_file() && ENDINGS.iter().any(|e| name.ends_with(e)) {
            let text =
                std::fs::read_to_string(entry.path()).with_context(|| format!("cannot read {path}"))?;
            files.push((path, text));
        }
    }
    Ok(())
}
