//! Reads the statements between `%{` and `}%`.

mod tokens;

use self::tokens::Piece;
use super::{Cursor, DEPTH_MAX, Quoted};
use crate::ast::Position;
use crate::code::{Binary, Comparison, Operand, Statement, StatementKind, Unary};
use crate::error::ScriptError;

/// Reads the code that follows the `%{` at `opened`.
pub(super) fn parse(opened: Position, text: &str) -> Result<Vec<Statement>, ScriptError> {
    let inside = Position {
        line: opened.line,
        column: opened.column + 2,
    };
    let pieces = tokens::split(inside, text)?;
    let mut reader = Reader {
        code: Cursor {
            tokens: &pieces,
            index: 0,
        },
        operands: 0,
    };
    let mut statements = Vec::new();
    loop {
        while reader.take("\n") {}
        if *reader.code.peek() == Piece::End {
            return Ok(statements);
        }
        statements.push(reader.statement()?);
        if *reader.code.peek() != Piece::End && !reader.take("\n") {
            return Err(reader
                .code
                .expected("an operator, `,`, `;` or the end of the line"));
        }
    }
}

/// The operators, from the loosest binding to the tightest. Those of a level are read from left to right.
const LEVELS: &[&[(&str, Binary)]] = &[
    &[("|", Binary::BitOr)],
    &[("^", Binary::BitXor)],
    &[("&", Binary::BitAnd)],
    &[("+", Binary::Add), ("-", Binary::Subtract)],
    &[
        ("*", Binary::Multiply),
        ("/", Binary::Divide),
        ("//", Binary::FloorDivide),
        ("%", Binary::Remainder),
    ],
];

const COMPARISONS: &[(&str, Comparison)] = &[
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    ("<=", Comparison::LessOrEqual),
    (">", Comparison::Greater),
    (">=", Comparison::GreaterOrEqual),
];

/// The most operands of a statement. An expression such as `1 + 1 + 1` becomes a tree that is as deep as it has operands.
const OPERANDS_MAX: u32 = 1000;

struct Reader<'a> {
    code: Cursor<'a, Piece>,
    /// operands of the present statement so far
    operands: u32,
}

impl Reader<'_> {
    fn is(&self, sign: &str) -> bool {
        matches!(self.code.peek(), Piece::Sign(next) | Piece::Name(next) if next == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_next = self.is(sign);
        if is_next {
            self.code.skip();
        }
        is_next
    }

    fn need(&mut self, sign: &str) -> Result<(), ScriptError> {
        if self.take(sign) {
            return Ok(());
        }
        Err(self.code.expected(&format!("`{sign}`")))
    }

    fn statement(&mut self) -> Result<Statement, ScriptError> {
        const WHAT: &str = "`assert`, `print` or `name = value`";
        let line = self.code.at().line;
        self.operands = 0;
        let Piece::Name(name) = self.code.peek().clone() else {
            return Err(self.code.expected(WHAT));
        };
        self.code.skip();
        let kind = match name.as_str() {
            "assert" => {
                let from = self.code.index;
                let condition = self.expression(0)?;
                let text = self.text(from);
                if self.take(",") {
                    self.expression(0)?;
                }
                StatementKind::Assert(condition, text)
            }
            "print" => {
                self.expression(0)?;
                StatementKind::Print
            }
            _ if self.take("=") => StatementKind::Assign(name, self.expression(0)?),
            _ => {
                let step = [("+=", Binary::Add), ("-=", Binary::Subtract)]
                    .into_iter()
                    .find(|(sign, _)| self.take(sign));
                let Some((_, operator)) = step else {
                    return Err(self.code.expected(WHAT));
                };
                let old = Box::new(Operand::Name(name.clone()));
                let value = Box::new(self.expression(0)?);
                StatementKind::Assign(name, Operand::Binary(operator, old, value))
            }
        };
        Ok(Statement { line, kind })
    }

    /// The text of the pieces from index `from` up to the current one.
    fn text(&self, from: usize) -> String {
        let texts: Vec<String> = self.code.tokens[from..self.code.index]
            .iter()
            .map(|(_, piece)| piece.text())
            .collect();
        texts.join(" ")
    }

    fn expression(&mut self, depth: u32) -> Result<Operand, ScriptError> {
        let mut left = self.conjunction(depth)?;
        while self.take("or") {
            let right = self.conjunction(depth)?;
            left = Operand::Binary(Binary::Or, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn conjunction(&mut self, depth: u32) -> Result<Operand, ScriptError> {
        let mut left = self.negation(depth)?;
        while self.take("and") {
            let right = self.negation(depth)?;
            left = Operand::Binary(Binary::And, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn negation(&mut self, depth: u32) -> Result<Operand, ScriptError> {
        let mut negated = false;
        while self.take("not") {
            negated = !negated;
        }
        let operand = self.comparison(depth)?;
        Ok(if negated {
            Operand::Unary(Unary::Not, Box::new(operand))
        } else {
            operand
        })
    }

    fn comparison(&mut self, depth: u32) -> Result<Operand, ScriptError> {
        let first = self.level(0, depth)?;
        let mut rest = Vec::new();
        while let Some((_, comparison)) = COMPARISONS.iter().find(|(sign, _)| self.is(sign)) {
            self.code.skip();
            rest.push((*comparison, self.level(0, depth)?));
        }
        Ok(if rest.is_empty() {
            first
        } else {
            Operand::Compare(Box::new(first), rest)
        })
    }

    fn level(&mut self, level: usize, depth: u32) -> Result<Operand, ScriptError> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary(depth);
        };
        let mut left = self.level(level + 1, depth)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.is(sign)) {
            self.code.skip();
            let right = self.level(level + 1, depth)?;
            left = Operand::Binary(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self, depth: u32) -> Result<Operand, ScriptError> {
        if depth > DEPTH_MAX {
            return Err(self.code.expected("an expression nested less deeply"));
        }
        self.operands += 1;
        if self.operands > OPERANDS_MAX {
            return Err(self.code.expected("a statement with fewer operands"));
        }
        if self.take("-") {
            let of = self.unary(depth + 1)?;
            return Ok(Operand::Unary(Unary::Minus, Box::new(of)));
        }
        match self.code.peek().clone() {
            Piece::Number(number) => {
                self.code.skip();
                Ok(Operand::Number(number))
            }
            Piece::Text(text) => {
                self.code.skip();
                Ok(Operand::Text(text))
            }
            Piece::Name(name) => {
                self.code.skip();
                if self.take("(") {
                    return Ok(Operand::Apply(name, self.list(depth + 1)?.0));
                }
                Ok(Operand::Name(name))
            }
            Piece::Sign(sign) if sign == "(" => {
                self.code.skip();
                let (mut list, comma) = self.list(depth + 1)?;
                match list.pop() {
                    Some(only) if list.is_empty() && !comma => Ok(only),
                    more => {
                        list.extend(more);
                        Ok(Operand::Tuple(list))
                    }
                }
            }
            _ => Err(self.code.expected("a number, a name, a string or `(`")),
        }
    }

    /// Reads expressions up to `)`, separated by commas. Also returns whether there was a comma.
    fn list(&mut self, depth: u32) -> Result<(Vec<Operand>, bool), ScriptError> {
        let mut list = Vec::new();
        let mut comma = false;
        while !self.take(")") {
            list.push(self.expression(depth)?);
            if self.take(",") {
                comma = true;
            } else {
                self.need(")")?;
                break;
            }
        }
        Ok((list, comma))
    }
}
