//! Random queries that both servers understand.

use super::TABLES;

pub struct Generator {
    seed: u64,
    /// Of the next alias.
    next: u32,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        Self { seed, next: 0 }
    }

    /// Its rows come in an order that the statement says, or it has only one.
    pub fn statement(&mut self) -> String {
        self.next = 0;
        let query = self.query(3, &[]);
        format!("SELECT a, b FROM ({query}) AS everything ORDER BY 1, 2")
    }

    /// A number below `n`.
    fn pick(&mut self, n: u64) -> u64 {
        // Knuth's MMIX constants; the upper bits are the better ones.
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % n
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        let at = self.pick(all.len() as u64);
        all[usize::try_from(at).unwrap_or_default()]
    }

    fn alias(&mut self) -> String {
        self.next += 1;
        format!("x{}", self.next)
    }

    /// Of two columns, a and b. `known` are the names that WITH gave.
    fn query(&mut self, depth: u32, known: &[String]) -> String {
        if depth == 0 {
            return self.select(0, known);
        }
        match self.pick(6) {
            0 => {
                let name = match self.pick(3) {
                    0 => self.one_of(&TABLES).to_owned(),
                    _ => format!("c{}", self.pick(3)),
                };
                let recursive = if self.pick(4) == 0 { format!("recursive_{name}") } else { String::new() };
                let body = self.query(depth - 1, known);
                let mut inner = known.to_vec();
                inner.push(name.clone());
                let rest = self.select(depth - 1, &inner);
                if recursive.is_empty() {
                    format!("WITH {name} AS ({body}) {rest}")
                } else {
                    let counted = "SELECT 1 AS a, 'n' AS b UNION ALL SELECT a + 1, b FROM";
                    let counted = format!("{counted} {recursive} WHERE a < 3");
                    inner.push(recursive.clone());
                    let more = self.select(depth - 1, &inner);
                    format!("WITH RECURSIVE {recursive} AS ({counted}) {more}")
                }
            }
            1 => {
                let word = self.one_of(&["UNION", "UNION ALL", "union distinct", "EXCEPT", "INTERSECT"]);
                let (one, other) = (self.select(depth - 1, known), self.select(depth - 1, known));
                format!("({one}) {word} ({other})")
            }
            2 => {
                let (one, other) = (self.plain_select(depth - 1, known), self.plain_select(depth - 1, known));
                format!("{one} UNION {other}")
            }
            _ => self.select(depth, known),
        }
    }

    fn select(&mut self, depth: u32, known: &[String]) -> String {
        let select = self.plain_select(depth, known);
        match self.pick(4) {
            0 => format!("{select} ORDER BY 1, 2 LIMIT 3"),
            1 => format!("{select} ORDER BY 1, 2 LIMIT 1, 2"),
            _ => select,
        }
    }

    fn plain_select(&mut self, depth: u32, known: &[String]) -> String {
        let (tables, alias) = self.tables(depth, known);
        let (a, b) = (self.expression(depth, known, &alias), self.expression(depth, known, &alias));
        let options = self.one_of(&["", "DISTINCT ", "ALL ", "STRAIGHT_JOIN ", "/* , */"]);
        let condition = match self.pick(4) {
            0 => format!(" WHERE {} IS NOT NULL", self.expression(depth, known, &alias)),
            1 => format!(" WHERE {alias}.a IN (SELECT {alias}.a FROM {} AS inner_)", self.one_of(&TABLES)),
            _ => String::new(),
        };
        format!("SELECT {options}{a} AS a, {b} AS b FROM {tables}{condition}")
    }

    /// The list behind FROM, and the alias of its first table.
    fn tables(&mut self, depth: u32, known: &[String]) -> (String, String) {
        let (mut all, alias) = self.factor(depth, known);
        for _ in 0..self.pick(3) {
            let (next, other) = self.factor(depth, known);
            all = match self.pick(6) {
                // A comma binds less than JOIN, whose conditions name nothing from before it.
                0 => format!("{all}, {next}"),
                1 => format!("{all} JOIN {next} ON {}", self.expression(depth, known, &other)),
                2 => format!("{all} LEFT OUTER JOIN {next} ON {other}.a IN (1, 2)"),
                3 => format!("{all} CROSS JOIN {next}"),
                4 => format!("{all} straight_join {next}"),
                _ => format!("{all} INNER JOIN {next} ON (1)"),
            };
        }
        (all, alias)
    }

    fn factor(&mut self, depth: u32, known: &[String]) -> (String, String) {
        let alias = self.alias();
        let table = self.one_of(&TABLES);
        let factor = match self.pick(if depth == 0 { 7 } else { 11 }) {
            0 => format!("{table} AS {alias}"),
            1 => format!("`{table}`{alias}"),
            2 => format!("/* FROM */{table}/* , */ {alias} USE INDEX (i)"),
            3 => format!("{table} {alias} FORCE INDEX FOR ORDER BY (i) IGNORE KEY FOR JOIN (i)"),
            4 if !known.is_empty() => {
                let at = self.pick(known.len() as u64);
                format!("{} AS {alias}", known[usize::try_from(at).unwrap_or_default()])
            }
            5 => {
                let columns = "COLUMNS (a INT PATH '$', b VARCHAR(9) PATH '$')";
                format!("JSON_TABLE('[1, 2]', '$[*]' {columns}) AS {alias}")
            }
            7 => format!("({table} AS {alias} JOIN {} AS {})", self.one_of(&TABLES), self.alias()),
            8 => format!("({table} {alias})"),
            9 => format!("({}) AS {alias}", self.query(depth - 1, known)),
            10 => format!("({}) {alias}", self.query(depth - 1, known)),
            _ => format!("{table} {alias}"),
        };
        (factor, alias)
    }

    fn expression(&mut self, depth: u32, known: &[String], alias: &str) -> String {
        if depth > 0 && self.pick(4) == 0 {
            let (query, of) = (self.query(depth - 1, known), self.alias());
            return match self.pick(3) {
                0 => format!("(SELECT MAX({of}.a) FROM ({query}) AS {of})"),
                1 => format!("EXISTS ({query})"),
                _ => format!("1 IN (SELECT {of}.b FROM ({query}) {of})"),
            };
        }
        match self.pick(8) {
            0 => format!("{alias}.a"),
            1 => format!("CONCAT({alias}.b, 'FROM t')"),
            2 => "EXTRACT(YEAR FROM '2020-01-01')".to_owned(),
            3 => format!("TRIM(BOTH 'x' FROM {alias}.b)"),
            4 => format!("SUBSTRING({alias}.b FROM 1 FOR 2)"),
            5 => {
                format!("CASE WHEN {alias}.a > (1) THEN IF({alias}.a, 1, 2) ELSE COALESCE({alias}.a, 3) END")
            }
            6 => format!("CAST({alias}.a AS DECIMAL(9,2))"),
            _ => format!("'{alias}'"),
        }
    }
}
