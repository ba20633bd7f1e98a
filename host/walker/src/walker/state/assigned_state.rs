//! The state that the assignments of one node read, in a dialect in which later assignments see earlier ones.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::graph::{Assignment, NodeIndex};
use crate::walker::state::channels::Channels;
use crate::walker::state::reduce::{FoldError, Write};
use graph_core::template::Fields;
use graph_core::work::{FuelExhausted, Meter, size};

/// The committed state, overlaid with the values that a node has assigned so far.
pub(in crate::walker) struct AssignedState<'c> {
    channels: &'c Channels,
    written: BTreeMap<&'c str, Value>,
}

impl<'c> AssignedState<'c> {
    pub(in crate::walker) const fn over(channels: &'c Channels) -> Self {
        Self { channels, written: BTreeMap::new() }
    }

    /// Writes an assigned value, folded by the channel's reducer, for later assignments to read. A value that the
    /// reducer does not accept is ignored here; the commit refuses it.
    pub(in crate::walker) fn write(
        &mut self,
        node: NodeIndex,
        assignment: &'c Assignment,
        value: &Value,
        meter: &Meter,
    ) -> Result<(), FuelExhausted> {
        let channel = assignment.channel.as_str();
        let write = Write { node, value: size::copy(value, meter)?, mode: assignment.mode };
        match self.channels.with_write(channel, self.written.get(channel), write, meter) {
            Ok(value) => {
                self.written.insert(channel, value);
                Ok(())
            }
            Err(FoldError::Exhausted(exhausted)) => Err(exhausted),
            Err(FoldError::Conflict(..) | FoldError::Invalid { .. }) => Ok(()),
        }
    }
}

impl Fields for AssignedState<'_> {
    fn field(&self, key: &str) -> Option<&Value> {
        self.written.get(key).or_else(|| self.channels.field(key))
    }

    fn to_value(&self, meter: &Meter) -> Result<Value, FuelExhausted> {
        let mut state = self.channels.to_value(meter)?;
        if let Value::Object(state) = &mut state {
            for (channel, value) in &self.written {
                state.insert((*channel).to_owned(), size::copy(value, meter)?);
            }
        }
        Ok(state)
    }
}
