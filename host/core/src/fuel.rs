//! The costs of WebAssembly instructions: the table that the engine meters by and that instrumented components use. It is
//! part of the engine's identity.
//!
//! Each instruction that is executed costs [`of_operator`], and each call of a function another [`FUNCTION`]. An
//! instruction whose work depends on an operand costs more for each byte, element or page. The limit is checked where a
//! function begins, at the head of each loop, and before an instruction with such an operand, unless that is a constant
//! that costs [`UNCHECKED`] or less. A call that returns between two checks is charged what it has used, up to the limit.

/// A call of a function, in addition to its instructions.
pub const FUNCTION: u8 = 1;
/// Each byte on which `memory.copy`, `memory.fill` or `memory.init` works.
pub const BYTE: u8 = 1;
/// Each element on which `table.copy`, `table.fill`, `table.init` or `table.grow` works.
pub const ELEMENT: u8 = 1;
/// The cost of each page that `memory.grow` asks for: about the time that a page costs the host.
pub const PAGE: u8 = 100;
/// Largest cost of an instruction with a constant operand that is executed without a check of the limit.
pub const UNCHECKED: u64 = 128;
/// Largest number of elements of one table; beyond it, the table does not grow.
pub const TABLE_ELEMENTS: u32 = 100_000;

/// Instructions that cost nothing, as they generate no code of their own.
const FREE: [&str; 8] = ["Block", "Drop", "Else", "End", "Loop", "Nop", "Return", "Unreachable"];

/// Returns the cost of an instruction, by its name in the WebAssembly specification in upper camel case (`I32Add`).
pub const fn of_operator(name: &str) -> u8 {
    let mut place = 0;
    while place < FREE.len() {
        if is_same(FREE[place].as_bytes(), name.as_bytes()) {
            return 0;
        }
        place += 1;
    }
    1
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut place = 0;
    while place < one.len() {
        if one[place] != other[place] {
            return false;
        }
        place += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::of_operator;

    #[test]
    fn what_leads_nowhere_by_itself_is_free() {
        assert_eq!(["Nop", "Block", "End", "Drop"].map(of_operator), [0; 4]);
        assert_eq!(["I32Add", "If", "BrIf", "Call", "NopX", "En"].map(of_operator), [1; 6]);
    }
}
