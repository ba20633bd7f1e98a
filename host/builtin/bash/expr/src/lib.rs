//! Evaluation of the arguments of `expr`: the parser and the arithmetic of `uu_expr`, in the locale C.UTF-8.
//!
//! Its sources are used as published. This crate replaces the parts of `uucore` that they use, because `uucore` requires an operating system.

// The sources refer to it as `uucore`.
extern crate self as uucore;

#[allow(clippy::all, clippy::pedantic, dead_code)]
#[path = "../upstream/src/locale_aware.rs"]
mod locale_aware;
#[allow(clippy::all, clippy::pedantic, dead_code)]
#[path = "../upstream/src/syntax_tree.rs"]
mod syntax_tree;

pub type ExprResult<T> = Result<T, ExprError>;

/// Reason why an expression has no value.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum ExprError {
    #[error("syntax error: unexpected argument '{0}'")]
    UnexpectedArgument(String),
    #[error("syntax error: missing argument after '{0}'")]
    MissingArgument(String),
    #[error("non-integer argument")]
    NonIntegerArgument(Vec<u8>),
    #[error("missing operand")]
    MissingOperand,
    #[error("division by zero")]
    DivisionByZero,
    #[error("Invalid regular expression")]
    InvalidRegexExpression,
    #[error("syntax error: expecting ')' after '{0}'")]
    ExpectedClosingBraceAfter(String),
    #[error("syntax error: expecting ')' instead of '{0}'")]
    ExpectedClosingBraceInsteadOf(String),
    #[error("Unmatched ( or \\(")]
    UnmatchedOpeningParenthesis,
    #[error("Unmatched ) or \\)")]
    UnmatchedClosingParenthesis,
    #[error("Unmatched \\{{")]
    UnmatchedOpeningBrace,
    #[error("Invalid content of \\{{\\}}")]
    InvalidBracketContent,
    #[error("Trailing backslash")]
    TrailingBackslash,
    #[error("Regular expression too big")]
    TooBigRangeQuantifierIndex,
    #[error("match does not support invalid UTF-8 encoding in '{0}'")]
    UnsupportedNonUtf8Match(String),
}

/// Evaluates an expression. Returns its value, and true if that is neither empty nor zero.
///
/// # Errors
///
/// Returns an error if the expression is invalid, or its value cannot be computed.
pub fn evaluate(arguments: &[Vec<u8>]) -> ExprResult<(Vec<u8>, bool)> {
    let tree = syntax_tree::AstNode::parse_located(arguments).map_err(|(error, _)| error)?;
    let value = tree.eval_located().map_err(|(error, _)| error)?.eval_as_string();
    let truthy = syntax_tree::is_truthy(&value.clone().into());
    Ok((value, truthy))
}

/// A character, or a byte that is not part of one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum CharByte {
    Char(char),
    Byte(u8),
}

/// Iterator over bytes by character.
pub trait IntoCharByteIterator {
    fn iter_char_bytes(&self) -> impl Iterator<Item = CharByte>;
}

impl IntoCharByteIterator for [u8] {
    fn iter_char_bytes(&self) -> impl Iterator<Item = CharByte> {
        self.utf8_chunks().flat_map(|chunk| {
            let invalid = chunk.invalid().iter().copied().map(CharByte::Byte);
            chunk.valid().chars().map(CharByte::Char).chain(invalid)
        })
    }
}

pub mod i18n {
    //! The locale C.UTF-8.

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub enum UEncoding {
        Utf8,
        Ascii,
    }

    #[must_use]
    pub fn get_locale_encoding() -> UEncoding {
        UEncoding::Utf8
    }

    pub mod collator {
        //! Order of texts: by their bytes.

        #[derive(Default)]
        pub struct CollatorOptions {
            pub alternate_handling: Option<AlternateHandling>,
        }

        pub enum AlternateHandling {
            Shifted,
        }

        pub fn try_init_collator(_: CollatorOptions) -> bool {
            true
        }

        #[must_use]
        pub fn locale_cmp(left: &[u8], right: &[u8]) -> std::cmp::Ordering {
            left.cmp(right)
        }
    }
}
