//! Splits the code's characters into pieces. The end of a line is a piece, except within parentheses.

use super::Quoted;
use crate::ast::Position;
use crate::error::ScriptError;
use crate::scanner::Scanner;

/// A token of the code.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Name(String),
    Number(f64),
    Text(String),
    /// an operator or a bracket, or `\n` for the end of a statement
    Sign(String),
    End,
}

impl Piece {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Name(text) | Self::Sign(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("{text:?}"),
            Self::End => String::new(),
        }
    }
}

impl Quoted for Piece {
    fn shown(&self) -> String {
        match self {
            Self::End => "the end of the code".to_owned(),
            Self::Sign(sign) if sign == "\n" => "the end of the statement".to_owned(),
            _ => format!("`{}`", self.text()),
        }
    }
}

const SIGNS: &[&str] = &[
    "==", "!=", "<=", ">=", "+=", "-=", "//", "+", "-", "*", "/", "%", "&", "|", "^", "<", ">",
    "=", "(", ")", ",",
];

/// Splits `text`, which begins at `at`. The last piece is [`Piece::End`].
pub(super) fn split(at: Position, text: &str) -> Result<Vec<(Position, Piece)>, ScriptError> {
    let mut splitter = Splitter(Scanner { at, rest: text });
    let mut pieces = Vec::new();
    let mut open = 0_u32;
    loop {
        splitter.skip_blank(open > 0);
        let at = splitter.0.at;
        let Some(c) = splitter.0.peek() else {
            pieces.push((at, Piece::End));
            return Ok(pieces);
        };
        let piece = match c {
            '\n' | ';' => {
                splitter.0.next();
                Piece::Sign("\n".to_owned())
            }
            '\'' | '"' => splitter.text(c)?,
            _ if c.is_ascii_digit() => splitter.number()?,
            _ if c.is_ascii_alphabetic() || c == '_' => {
                let name = splitter
                    .0
                    .take_while(|c| c.is_ascii_alphanumeric() || c == '_');
                Piece::Name(name.to_owned())
            }
            _ => splitter.sign()?,
        };
        match &piece {
            Piece::Sign(sign) if sign == "(" => open += 1,
            Piece::Sign(sign) if sign == ")" => open = open.saturating_sub(1),
            _ => {}
        }
        pieces.push((at, piece));
    }
}

struct Splitter<'a>(Scanner<'a>);

impl Splitter<'_> {
    fn skip_blank(&mut self, lines_too: bool) {
        loop {
            self.0
                .take_while(|c| c.is_whitespace() && (lines_too || c != '\n'));
            if self.0.rest.starts_with('#') {
                self.0.take_while(|c| c != '\n');
            } else if self.0.rest.starts_with("\\\n") {
                self.0.skip(2);
            } else {
                return;
            }
        }
    }

    fn text(&mut self, quote: char) -> Result<Piece, ScriptError> {
        let start = self.0.at;
        self.0.next();
        let text = self.0.take_while(|c| c != quote && c != '\n').to_owned();
        if !self.0.rest.starts_with(quote) {
            let expected = format!("`{quote}` to close the string that is opened here");
            return Err(ScriptError::new(start, &expected, "the end of the line"));
        }
        self.0.next();
        Ok(Piece::Text(text))
    }

    fn number(&mut self) -> Result<Piece, ScriptError> {
        let start = self.0.at;
        let word = self.0.take_while(|c| c.is_ascii_alphanumeric() || c == '.');
        let number = match word.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok().map(f64::from),
            None => word.parse().ok(),
        };
        number
            .map(Piece::Number)
            .ok_or_else(|| ScriptError::new(start, "a number", &format!("`{word}`")))
    }

    fn sign(&mut self) -> Result<Piece, ScriptError> {
        let Some(sign) = SIGNS.iter().find(|sign| self.0.rest.starts_with(**sign)) else {
            let found: String = self.0.rest.chars().take(1).collect();
            let expected = "a name, a number, a string or an operator";
            return Err(ScriptError::new(self.0.at, expected, &format!("`{found}`")));
        };
        self.0.skip(sign.len());
        Ok(Piece::Sign((*sign).to_owned()))
    }
}
