use std::collections::HashMap;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::Finding;
use super::exceptions::Exceptions;
use super::floors::below_the_wall;
use super::tree::{Tree, is_test_only};

/// A banned path: the rule an exception would name, the path, and what to do instead.
struct Ban {
    rule: &'static str,
    path: &'static [&'static str],
    /// Banned wherever these segments follow each other, else only at the beginning of a full path.
    anywhere: bool,
    why: &'static str,
}

const fn ban(rule: &'static str, anywhere: bool, path: &'static [&'static str], why: &'static str) -> Ban {
    Ban { rule, path, anywhere, why }
}

const WHY_FILE: &str = "below the wall no files: take the text as an argument";
const WHY_NET: &str = "below the wall no sockets: take and return bytes";
const WHY_CLOCK: &str = "below the wall no clock: take `now` as an argument";
const WHY_CHANCE: &str = "below the wall no randomness: take the nonce or seed as an argument";
const WHY_PROCESS: &str = "below the wall no threads, processes or environment";

const BANS: &[Ban] = &[
    ban("wall-files", false, &["std", "fs"], WHY_FILE),
    ban("wall-files", false, &["std", "os", "unix", "fs"], WHY_FILE),
    ban("wall-network", false, &["std", "os", "unix", "net"], WHY_NET),
    ban("wall-network", true, &["TcpStream"], WHY_NET),
    ban("wall-network", true, &["TcpListener"], WHY_NET),
    ban("wall-network", true, &["UdpSocket"], WHY_NET),
    ban("wall-network", true, &["ToSocketAddrs"], WHY_NET),
    ban("wall-clock", true, &["Instant", "now"], WHY_CLOCK),
    ban("wall-clock", true, &["SystemTime", "now"], WHY_CLOCK),
    ban("wall-clock", true, &["Instant", "elapsed"], WHY_CLOCK),
    ban("wall-randomness", false, &["rand"], WHY_CHANCE),
    ban("wall-randomness", false, &["getrandom"], WHY_CHANCE),
    ban("wall-randomness", false, &["fastrand"], WHY_CHANCE),
    ban("wall-randomness", false, &["aws_lc_rs", "rand"], WHY_CHANCE),
    ban("wall-randomness", true, &["SystemRandom"], WHY_CHANCE),
    ban("wall-randomness", true, &["PrivateDecryptingKey", "generate"], WHY_CHANCE),
    ban("wall-randomness", true, &["KeyPair", "generate"], WHY_CHANCE),
    ban("wall-process", false, &["std", "env"], WHY_PROCESS),
    ban("wall-process", false, &["std", "process"], WHY_PROCESS),
    ban("wall-process", false, &["std", "thread"], WHY_PROCESS),
];

pub fn check(tree: &Tree, exceptions: &Exceptions) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|f| !f.is_test) {
        let Some((name, rest)) = file.path.strip_prefix("crates/").and_then(|p| p.split_once('/')) else {
            continue;
        };
        let Some(syntax) = file.syntax().filter(|_| below_the_wall(name) && rest.starts_with("src/")) else {
            continue;
        };
        let mut imports = Imports::default();
        imports.visit_file(syntax);
        let mut uses = Uses { imports: &imports, found: Vec::new() };
        uses.visit_file(syntax);
        for (path, span) in imports.paths.iter().chain(&uses.found) {
            let Some(ban) = BANS.iter().find(|b| b.matches(path)) else { continue };
            if !exceptions.allow(ban.rule, &file.path) {
                let what = format!("`{}` ({})", path.join("::"), ban.rule);
                findings.push(Finding::new(&file.path, span.start().line, what, ban.why));
            }
        }
    }
    findings.dedup();
    findings
}

impl Ban {
    fn matches(&self, path: &[String]) -> bool {
        let same = |window: &[String]| window.iter().zip(self.path).all(|(a, b)| a == b);
        if self.anywhere {
            path.windows(self.path.len()).any(same)
        } else {
            path.len() >= self.path.len() && same(path)
        }
    }
}

/// Collects what `use` declarations bring in, outside test modules.
#[derive(Default)]
struct Imports {
    names: HashMap<String, Vec<String>>,
    paths: Vec<(Vec<String>, Span)>,
}

impl Imports {
    fn add(&mut self, mut prefix: Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add(prefix, &path.tree);
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                let last = prefix.last().cloned().unwrap_or_default();
                self.bring(last, prefix, name.ident.span());
            }
            syn::UseTree::Name(name) => {
                prefix.push(name.ident.to_string());
                self.bring(name.ident.to_string(), prefix, name.ident.span());
            }
            syn::UseTree::Rename(rename) => {
                if rename.ident != "self" {
                    prefix.push(rename.ident.to_string());
                }
                self.bring(rename.rename.to_string(), prefix, rename.ident.span());
            }
            syn::UseTree::Glob(glob) => self.paths.push((prefix, glob.star_token.spans[0])),
            syn::UseTree::Group(group) => group.items.iter().for_each(|t| self.add(prefix.clone(), t)),
        }
    }

    fn bring(&mut self, name: String, path: Vec<String>, span: Span) {
        self.paths.push((path.clone(), span));
        self.names.insert(name, path);
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test_only(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test_only(&item.attrs) {
            self.add(Vec::new(), &item.tree);
        }
    }
}

/// Collects the paths that code names, written out in full, outside test modules.
struct Uses<'i> {
    imports: &'i Imports,
    found: Vec<(Vec<String>, Span)>,
}

impl Uses<'_> {
    fn name(&mut self, mut path: Vec<String>, span: Span) {
        // An import by itself is judged where it stands; one segment names nothing beyond it.
        if path.len() < 2 {
            return;
        }
        if let Some(full) = path.first().and_then(|first| self.imports.names.get(first)) {
            path.splice(..1, full.iter().cloned());
        }
        self.found.push((path, span));
    }

    /// Macros are not parsed: paths in them are found by their shape.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut begin = Span::call_site();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.name(std::mem::take(&mut path), begin);
                    }
                    if path.is_empty() {
                        begin = ident.span();
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.name(std::mem::take(&mut path), begin);
                    colons = 0;
                    self.tokens(group.stream());
                }
                _ => {
                    self.name(std::mem::take(&mut path), begin);
                    colons = 0;
                }
            }
        }
        self.name(path, begin);
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test_only(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|s| s.ident.to_string()).collect();
        let span = path.segments.first().map_or_else(Span::call_site, |s| s.ident.span());
        self.name(segments, span);
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        // `Instant::elapsed` and `SystemTime::elapsed` read the clock; nothing else of std has that name.
        if call.method == "elapsed" && call.args.is_empty() {
            self.found.push((vec!["Instant".into(), "elapsed".into()], call.method.span()));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.tokens(mac.tokens.clone());
        visit::visit_macro(self, mac);
    }
}
