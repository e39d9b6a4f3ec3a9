//! The code between `%{` and `}%`: assertions about the fields of `tcp_info`, evaluated here. The syntax is that of
//! Python, but only `assert`, `print` and assignments of expressions are supported.

use std::collections::BTreeMap;

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The line of the statement in the script.
    pub line: u32,
    /// The kind of the statement.
    pub kind: StatementKind,
}

/// The kind of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `assert condition, message`: the condition, and its text. The message is read but not kept.
    Assert(Operand, String),
    /// `print(..)`: prints for the readers of other tools' output, and does nothing here.
    Print,
    /// `name = value`; `name += value` is read as `name = name + value`.
    Assign(String, Operand),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A number.
    Number(f64),
    /// A string, for messages.
    Text(String),
    /// A field, a constant or an assigned name.
    Name(String),
    /// `-a`, `not a`.
    Unary(Unary, Box<Operand>),
    /// `a + b`, `a and b`.
    Binary(Binary, Box<Operand>, Box<Operand>),
    /// `a <= b < c`: every pair of neighbours is compared.
    Compare(Box<Operand>, Vec<(Comparison, Operand)>),
    /// `abs(a)`, `min(a, b)`.
    Apply(String, Vec<Operand>),
    /// `(a, b)`, as used in messages.
    Tuple(Vec<Operand>),
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `-`
    Minus,
    /// `not`
    Not,
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are Python's")]
pub enum Binary {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are Python's")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The values of names: fields of the connection, constants, and values that the script assigned.
#[derive(Clone, Debug, Default)]
pub struct Names {
    assigned: BTreeMap<String, f64>,
}

/// Linux's named constants (`tcp_states.h`, `tcp.h`).
const CONSTANTS: &[(&str, f64)] = &[
    ("True", 1.0),
    ("False", 0.0),
    ("TCP_CA_Open", 0.0),
    ("TCP_CA_Disorder", 1.0),
    ("TCP_CA_CWR", 2.0),
    ("TCP_CA_Recovery", 3.0),
    ("TCP_CA_Loss", 4.0),
    ("TCP_ESTABLISHED", 1.0),
    ("TCP_SYN_SENT", 2.0),
    ("TCP_SYN_RECV", 3.0),
    ("TCP_FIN_WAIT1", 4.0),
    ("TCP_FIN_WAIT2", 5.0),
    ("TCP_TIME_WAIT", 6.0),
    ("TCP_CLOSE", 7.0),
    ("TCP_CLOSE_WAIT", 8.0),
    ("TCP_LAST_ACK", 9.0),
    ("TCP_LISTEN", 10.0),
    ("TCP_CLOSING", 11.0),
    ("TCPI_OPT_TIMESTAMPS", 1.0),
    ("TCPI_OPT_SACK", 2.0),
    ("TCPI_OPT_WSCALE", 4.0),
    ("TCPI_OPT_ECN", 8.0),
    ("TCPI_OPT_ECN_SEEN", 16.0),
    ("TCPI_OPT_SYN_DATA", 32.0),
];

/// Why a statement failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// An assertion does not hold.
    False {
        /// The condition as in the script.
        condition: String,
        /// The names in the condition with their values, as in `a = 1, b = 2`.
        values: String,
    },
    /// A statement cannot be evaluated, with the reason.
    Impossible(String),
}

impl Names {
    /// Runs statements. `field` returns the current value of a `tcp_info` field, or None if there is no such field.
    ///
    /// # Errors
    /// The line of the first statement that fails, and the reason.
    pub fn run(
        &mut self,
        statements: &[Statement],
        field: &impl Fn(&str) -> Option<f64>,
    ) -> Result<(), (u32, Fault)> {
        for statement in statements {
            let line = statement.line;
            let impossible = |why| (line, Fault::Impossible(why));
            match &statement.kind {
                StatementKind::Print => {}
                StatementKind::Assign(name, value) => {
                    let value = self.value(value, field).map_err(impossible)?;
                    self.assigned.insert(name.clone(), value);
                }
                StatementKind::Assert(condition, text) => {
                    if self.value(condition, field).map_err(impossible)? == 0.0 {
                        let condition_text = text.clone();
                        let values = self.shown(condition, field);
                        let fault = Fault::False {
                            condition: condition_text,
                            values,
                        };
                        return Err((line, fault));
                    }
                }
            }
        }
        Ok(())
    }

    fn name(&self, name: &str, field: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let constant = || CONSTANTS.iter().find(|(known, _)| *known == name);
        self.assigned
            .get(name)
            .copied()
            .or_else(|| field(name))
            .or_else(|| constant().map(|(_, value)| *value))
    }

    fn value(
        &self,
        operand: &Operand,
        field: &impl Fn(&str) -> Option<f64>,
    ) -> Result<f64, String> {
        let truth = |holds: bool| Ok(f64::from(u8::from(holds)));
        match operand {
            Operand::Number(number) => Ok(*number),
            Operand::Name(name) => self
                .name(name, field)
                .ok_or_else(|| format!("`{name}` is not known here")),
            Operand::Unary(Unary::Minus, of) => Ok(-self.value(of, field)?),
            Operand::Unary(Unary::Not, of) => truth(self.value(of, field)? == 0.0),
            Operand::Binary(operator, left, right) => {
                let left = self.value(left, field)?;
                match operator {
                    Binary::And if left == 0.0 => return Ok(left),
                    Binary::Or if left != 0.0 => return Ok(left),
                    _ => {}
                }
                binary(*operator, left, self.value(right, field)?)
            }
            Operand::Compare(first, rest) => {
                let mut left = self.value(first, field)?;
                for (comparison, right) in rest {
                    let right = self.value(right, field)?;
                    if !compare(*comparison, left, right) {
                        return truth(false);
                    }
                    left = right;
                }
                truth(true)
            }
            Operand::Apply(function, arguments) => {
                let values: Result<Vec<f64>, String> = arguments
                    .iter()
                    .map(|argument| self.value(argument, field))
                    .collect();
                apply(function, &values?)
            }
            Operand::Text(_) | Operand::Tuple(_) => Err("a string has no value".to_owned()),
        }
    }

    /// The names in an expression with their values, except constants.
    fn shown(&self, operand: &Operand, field: &impl Fn(&str) -> Option<f64>) -> String {
        let mut names = Vec::new();
        collect_names(operand, &mut names);
        let mut shown: Vec<String> = Vec::new();
        for name in names {
            let constant = CONSTANTS.iter().any(|(known, _)| *known == name);
            if let Some(value) = self.name(name, field).filter(|_| !constant) {
                let one = format!("{name} = {value}");
                if !shown.contains(&one) {
                    shown.push(one);
                }
            }
        }
        shown.join(", ")
    }
}

fn binary(operator: Binary, left: f64, right: f64) -> Result<f64, String> {
    let bits = |combine: fn(i64, i64) -> i64| combine(left as i64, right as i64) as f64;
    let divisor = || {
        if right == 0.0 {
            Err("division by zero".to_owned())
        } else {
            Ok(right)
        }
    };
    Ok(match operator {
        Binary::And | Binary::Or => right,
        Binary::BitOr => bits(|a, b| a | b),
        Binary::BitXor => bits(|a, b| a ^ b),
        Binary::BitAnd => bits(|a, b| a & b),
        Binary::Add => left + right,
        Binary::Subtract => left - right,
        Binary::Multiply => left * right,
        Binary::Divide => left / divisor()?,
        Binary::FloorDivide => (left / divisor()?).floor(),
        Binary::Remainder => left - divisor()? * (left / right).floor(),
    })
}

#[expect(clippy::float_cmp, reason = "the fields are whole numbers")]
fn compare(comparison: Comparison, left: f64, right: f64) -> bool {
    match comparison {
        Comparison::Equal => left == right,
        Comparison::NotEqual => left != right,
        Comparison::Less => left < right,
        Comparison::LessOrEqual => left <= right,
        Comparison::Greater => left > right,
        Comparison::GreaterOrEqual => left >= right,
    }
}

fn apply(function: &str, values: &[f64]) -> Result<f64, String> {
    match (function, values) {
        ("abs", [value]) => Ok(value.abs()),
        ("int", [value]) => Ok(value.trunc()),
        ("min", [first, rest @ ..]) => Ok(rest.iter().copied().fold(*first, f64::min)),
        ("max", [first, rest @ ..]) => Ok(rest.iter().copied().fold(*first, f64::max)),
        _ => Err(format!(
            "there is no `{function}` of {} values",
            values.len()
        )),
    }
}

fn collect_names<'a>(operand: &'a Operand, names: &mut Vec<&'a str>) {
    match operand {
        Operand::Number(_) | Operand::Text(_) => {}
        Operand::Name(name) => names.push(name),
        Operand::Unary(_, of) => collect_names(of, names),
        Operand::Binary(_, left, right) => {
            collect_names(left, names);
            collect_names(right, names);
        }
        Operand::Compare(first, rest) => {
            collect_names(first, names);
            for (_, operand) in rest {
                collect_names(operand, names);
            }
        }
        Operand::Apply(_, operands) | Operand::Tuple(operands) => {
            for operand in operands {
                collect_names(operand, names);
            }
        }
    }
}
