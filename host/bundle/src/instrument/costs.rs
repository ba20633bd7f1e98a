//! Costs of instructions.

use graph_core::fuel;
use wasmparser::Operator;

macro_rules! define_cost {
    ($(@$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*) )*) => {
        /// Returns the cost of an instruction, without the part that depends on its operands.
        #[allow(clippy::too_many_lines, reason = "one line makes all of them")]
        pub(super) fn cost(operator: &Operator<'_>) -> u64 {
            match operator {
                $(
                    Operator::$op $({ $($arg: _),* })? => u64::from(const { fuel::of_operator(stringify!($op)) }),
                )*
                // The crate wasmparser has more instructions than its list; the validator refuses those.
                _ => 1,
            }
        }
    };
}

wasmparser::for_each_operator!(define_cost);

/// Returns the cost for each unit of an instruction's last operand, if its work depends on that.
pub(super) fn per_unit(operator: &Operator<'_>) -> Option<u8> {
    Some(match operator {
        Operator::MemoryCopy { .. } | Operator::MemoryFill { .. } | Operator::MemoryInit { .. } => fuel::BYTE,
        Operator::TableCopy { .. }
        | Operator::TableFill { .. }
        | Operator::TableInit { .. }
        | Operator::TableGrow { .. } => fuel::ELEMENT,
        Operator::MemoryGrow { .. } => fuel::PAGE,
        _ => return None,
    })
}

/// Reports whether the counted cost has to be added before an instruction, because control can leave the sequence
/// there.
pub(super) const fn ends_a_stretch(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::Unreachable
            | Operator::Return
            | Operator::Call { .. }
            | Operator::CallIndirect { .. }
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::Br { .. }
            | Operator::BrIf { .. }
            | Operator::BrTable { .. }
            | Operator::End
            | Operator::Else
    )
}

/// Type of a result that can be a NaN whose bits are up to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    F32,
    F64,
    F32x4,
    F64x2,
}

/// Returns the type of the result of floating-point arithmetic. Instructions that only move bits or change the sign are
/// not arithmetic.
pub(super) const fn arithmetic(operator: &Operator<'_>) -> Option<Arithmetic> {
    Some(match operator {
        Operator::F32Add
        | Operator::F32Sub
        | Operator::F32Mul
        | Operator::F32Div
        | Operator::F32Min
        | Operator::F32Max
        | Operator::F32Ceil
        | Operator::F32Floor
        | Operator::F32Trunc
        | Operator::F32Nearest
        | Operator::F32Sqrt
        | Operator::F32DemoteF64 => Arithmetic::F32,
        Operator::F64Add
        | Operator::F64Sub
        | Operator::F64Mul
        | Operator::F64Div
        | Operator::F64Min
        | Operator::F64Max
        | Operator::F64Ceil
        | Operator::F64Floor
        | Operator::F64Trunc
        | Operator::F64Nearest
        | Operator::F64Sqrt
        | Operator::F64PromoteF32 => Arithmetic::F64,
        Operator::F32x4Add
        | Operator::F32x4Sub
        | Operator::F32x4Mul
        | Operator::F32x4Div
        | Operator::F32x4Min
        | Operator::F32x4Max
        | Operator::F32x4Ceil
        | Operator::F32x4Floor
        | Operator::F32x4Trunc
        | Operator::F32x4Nearest
        | Operator::F32x4Sqrt
        | Operator::F32x4DemoteF64x2Zero => Arithmetic::F32x4,
        Operator::F64x2Add
        | Operator::F64x2Sub
        | Operator::F64x2Mul
        | Operator::F64x2Div
        | Operator::F64x2Min
        | Operator::F64x2Max
        | Operator::F64x2Ceil
        | Operator::F64x2Floor
        | Operator::F64x2Trunc
        | Operator::F64x2Nearest
        | Operator::F64x2Sqrt
        | Operator::F64x2PromoteLowF32x4 => Arithmetic::F64x2,
        _ => return None,
    })
}
