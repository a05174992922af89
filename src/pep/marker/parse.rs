//! The grammar of markers: text to expression, deciding once how each comparison compares.

use super::Compare;
use super::Expr;
use super::Marker;
use super::Meaning;
use super::Operator;
use super::Side;
use super::Variable;
use crate::pep::version::Specifiers;
use crate::pep::version::Version;

/// As deep as `packaging` follows parentheses.
const DEEPEST: usize = 200;

/// Two-letter operators stand before their one-letter beginnings.
const OPERATORS: [(&str, Operator); 8] = [
    ("===", Operator::Identical),
    ("==", Operator::Equal),
    ("~=", Operator::Compatible),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessEqual),
    (">=", Operator::GreaterEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// Where a marker stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Requirement,
    /// Has `extras` and `dependency_groups` too.
    Lockfile,
}

/// Parses a whole marker, or says what is wrong.
pub(super) fn marker(text: &str, place: Place) -> Result<Marker, String> {
    let mut scanner = Scanner { rest: text, place };
    let root = scanner.any_of(0)?;
    if scanner.rest.is_empty() { Ok(Marker { root }) } else { Err(scanner.unexpected("`and`, `or` or the end")) }
}

struct Scanner<'a> {
    rest: &'a str,
    place: Place,
}

enum Operand {
    Variable(Variable),
    Text(String),
}

impl Scanner<'_> {
    fn any_of(&mut self, depth: usize) -> Result<Expr, String> {
        let mut all = Vec::new();
        loop {
            match self.all_of(depth)? {
                Expr::Or(inner) => all.extend(inner),
                one => all.push(one),
            }
            if !self.word("or") {
                return Ok(if all.len() == 1 { all.remove(0) } else { Expr::Or(all) });
            }
        }
    }

    fn all_of(&mut self, depth: usize) -> Result<Expr, String> {
        let mut all = Vec::new();
        loop {
            match self.atom(depth)? {
                Expr::And(inner) => all.extend(inner),
                one => all.push(one),
            }
            if !self.word("and") {
                return Ok(if all.len() == 1 { all.remove(0) } else { Expr::And(all) });
            }
        }
    }

    fn atom(&mut self, depth: usize) -> Result<Expr, String> {
        self.blanks();
        let expr = if self.symbol("(") {
            if depth == DEEPEST {
                return Err(format!("parentheses are nested deeper than {DEEPEST}"));
            }
            let inner = self.any_of(depth + 1)?;
            if !self.symbol(")") {
                return Err(self.unexpected("`and`, `or` or `)`"));
            }
            inner
        } else {
            Expr::Compare(Box::new(self.comparison()?))
        };
        self.blanks();
        Ok(expr)
    }

    fn comparison(&mut self) -> Result<Compare, String> {
        let left = self.operand()?;
        self.blanks();
        let operator = self.operator()?;
        self.blanks();
        let right = self.operand()?;
        match (left, right) {
            (Operand::Variable(set @ (Variable::Extras | Variable::DependencyGroups)), _) => {
                Err(format!("`{}` stands to the right of `in` or `not in`", set.as_str()))
            }
            (_, Operand::Variable(set @ (Variable::Extras | Variable::DependencyGroups)))
                if !matches!(operator, Operator::In | Operator::NotIn) =>
            {
                Err(format!("`{}` stands to the right of `in` or `not in`", set.as_str()))
            }
            (Operand::Variable(variable), Operand::Text(text)) => Ok(compare(variable, operator, text, Side::Left)),
            (Operand::Text(text), Operand::Variable(variable)) => Ok(compare(variable, operator, text, Side::Right)),
            (Operand::Variable(_), Operand::Variable(_)) => Err("it compares two variables".to_owned()),
            (Operand::Text(_), Operand::Text(_)) => Err("it compares two texts".to_owned()),
        }
    }

    fn operand(&mut self) -> Result<Operand, String> {
        if let Some(quote @ ('"' | '\'')) = self.rest.chars().next() {
            let (text, rest) = self.rest[1..].split_once(quote).ok_or("a quote is not closed")?;
            if text.contains(|c: char| c == '\\' || c.is_control() && c != '\t') {
                return Err("a text in it holds a backslash or control character".to_owned());
            }
            self.rest = rest;
            return Ok(Operand::Text(text.to_owned()));
        }
        let end = self.rest.find(|c: char| !(is_word(c) || c == '.')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let variable = variable(word, self.place).ok_or_else(|| match word {
            "extras" | "dependency_groups" => format!("`{word}` is only for lockfiles"),
            "" => self.unexpected("a marker variable or a quoted text"),
            _ => match nearest(word) {
                Some(near) => format!("`{word}` is no marker variable; did you mean `{near}`?"),
                None => format!("`{word}` is no marker variable, and texts stand in quotes"),
            },
        })?;
        self.rest = rest;
        Ok(Operand::Variable(variable))
    }

    fn operator(&mut self) -> Result<Operator, String> {
        if self.word("in") {
            return Ok(Operator::In);
        }
        if self.word("not") {
            let apart = self.blanks();
            return if apart && self.word("in") {
                Ok(Operator::NotIn)
            } else {
                Err(self.unexpected("`in` after `not`"))
            };
        }
        for (symbol, operator) in OPERATORS {
            if self.symbol(symbol) {
                return Ok(operator);
            }
        }
        Err(self.unexpected("an operator (`==`, `!=`, `<`, `<=`, `>`, `>=`, `~=`, `===`, `in`, `not in`)"))
    }

    /// Moves past `word` if it comes next and ends there.
    fn word(&mut self, word: &str) -> bool {
        match self.rest.strip_prefix(word) {
            Some(rest) if !rest.starts_with(is_word) => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        self.rest.strip_prefix(symbol).map(|rest| self.rest = rest).is_some()
    }

    fn blanks(&mut self) -> bool {
        let rest = self.rest.trim_start_matches([' ', '\t']);
        let moved = rest.len() < self.rest.len();
        self.rest = rest;
        moved
    }

    fn unexpected(&self, wanted: &str) -> String {
        match self.rest.chars().take(20).collect::<String>() {
            found if found.is_empty() => format!("expected {wanted}, found the end"),
            found => format!("expected {wanted}, found `{found}`"),
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn variable(word: &str, place: Place) -> Option<Variable> {
    match word {
        "extras" if place == Place::Lockfile => return Some(Variable::Extras),
        "dependency_groups" if place == Place::Lockfile => return Some(Variable::DependencyGroups),
        _ => {}
    }
    // Names of the first setuptools with markers.
    let word = match word {
        "os.name" => "os_name",
        "sys.platform" => "sys_platform",
        "platform.version" => "platform_version",
        "platform.machine" => "platform_machine",
        "platform.python_implementation" | "python_implementation" => "platform_python_implementation",
        _ => word,
    };
    Variable::ALL.into_iter().find(|one| one.as_str() == word)
}

/// Finds the variable that a misspelt one is nearest to.
fn nearest(word: &str) -> Option<&'static str> {
    let distance = |one: &&str| strsim::damerau_levenshtein(one, word);
    let near = Variable::ALL.into_iter().map(Variable::as_str).min_by_key(distance)?;
    (distance(&near) <= 1 + word.len() / 5).then_some(near)
}

fn compare(variable: Variable, operator: Operator, text: String, side: Side) -> Compare {
    let names = matches!(variable, Variable::Extra | Variable::Extras | Variable::DependencyGroups);
    let text = if names { normalize_extra(&text) } else { text };
    let meaning = meaning(variable, operator, &text, side);
    Compare { variable, operator, text, side, meaning }
}

fn meaning(variable: Variable, operator: Operator, text: &str, side: Side) -> Meaning {
    match (side, operator) {
        _ if !variable.is_version() => Meaning::Text,
        (_, Operator::In | Operator::NotIn) => Meaning::Text,
        (Side::Right, _) => Meaning::Candidate(text.parse::<Version>().ok()),
        (Side::Left, _) => {
            // Glued together as `packaging` does, so that `== "=3.8"` becomes `===3.8` here too.
            let glued = format!("{}{text}", operator.as_str());
            match glued.strip_prefix("===") {
                Some(text) => Meaning::Identity(text.trim().to_owned()),
                None => Specifiers::parse_one(&glued).map_or(Meaning::Text, Meaning::Specifier),
            }
        }
    }
}

/// Normalizes what may be no valid name at all.
fn normalize_extra(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    for c in text.to_lowercase().chars() {
        match c {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            _ => normal.push(c),
        }
    }
    normal
}
