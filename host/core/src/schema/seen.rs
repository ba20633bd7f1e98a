//! The parts of a value that were evaluated, for `unevaluatedItems` and `unevaluatedProperties`.

use serde_json::Value;

use super::program::Items;
use crate::work::{FuelExhausted, Meter, rates};

/// The parts of one value for which subschemas were evaluated. Parts are identified by their addresses, since equal parts are different
/// parts.
#[derive(Default)]
pub(super) struct EvaluatedParts<'v> {
    parts: Vec<&'v Value>,
    /// Number of items at the beginning that were evaluated.
    pub(super) first_items: usize,
    pub(super) all_items: bool,
    pub(super) all_fields: bool,
}

/// A state of [`EvaluatedParts`] to which it can be rolled back.
#[derive(Clone, Copy)]
pub(super) struct EvaluatedMark {
    parts: usize,
    first_items: usize,
    all_items: bool,
    all_fields: bool,
}

impl<'v> EvaluatedParts<'v> {
    pub(super) const fn mark(&self) -> EvaluatedMark {
        EvaluatedMark {
            parts: self.parts.len(),
            first_items: self.first_items,
            all_items: self.all_items,
            all_fields: self.all_fields,
        }
    }

    /// Removes the parts that were added after a mark.
    pub(super) fn roll_back(&mut self, mark: EvaluatedMark) {
        self.parts.truncate(mark.parts);
        self.first_items = mark.first_items;
        self.all_items = mark.all_items;
        self.all_fields = mark.all_fields;
    }

    /// Notes that a keyword has evaluated this field, for `unevaluatedProperties`.
    pub(super) fn field(&mut self, field: &'v Value, meter: &Meter) -> Result<(), FuelExhausted> {
        meter.charge(rates::LOOKUP)?;
        self.parts.push(field);
        Ok(())
    }

    /// Notes that a keyword has evaluated this item, for `unevaluatedItems`.
    pub(super) fn item(&mut self, item: &'v Value, meter: &Meter) -> Result<(), FuelExhausted> {
        self.field(item, meter)
    }

    /// Adds the items to which `prefixItems` and `items` apply.
    pub(super) fn items(&mut self, about: &Items, items: &[Value]) {
        self.first_items = self.first_items.max(about.prefix.len().min(items.len()));
        self.all_items |= about.rest.is_some();
    }

    /// Adds the parts of another set.
    pub(super) fn merge(&mut self, other: Self, meter: &Meter) -> Result<(), FuelExhausted> {
        meter.charge_each(other.parts.len(), rates::LOOKUP)?;
        self.parts.extend(other.parts);
        self.first_items = self.first_items.max(other.first_items);
        self.all_items |= other.all_items;
        self.all_fields |= other.all_fields;
        Ok(())
    }

    /// Sorts the parts, as [`EvaluatedParts::has`] requires.
    pub(super) fn sort(&mut self, meter: &Meter) -> Result<(), FuelExhausted> {
        meter.charge_each(self.parts.len(), self.steps().saturating_mul(rates::SORT_STEP))?;
        self.parts.sort_unstable_by_key(|part| std::ptr::from_ref(*part));
        Ok(())
    }

    /// Checks whether a part was evaluated. The parts must be sorted.
    pub(super) fn has(&self, part: &Value, meter: &Meter) -> Result<bool, FuelExhausted> {
        meter.charge(self.steps().saturating_mul(rates::SORT_STEP))?;
        let part = std::ptr::from_ref(part);
        Ok(self.parts.binary_search_by_key(&part, |part| std::ptr::from_ref(*part)).is_ok())
    }

    fn steps(&self) -> u64 {
        u64::from(self.parts.len().checked_ilog2().unwrap_or(0)) + 1
    }
}
