//! State of hooks when the run reaches a boundary, goes back to one, or is restored.

use super::Hooks;
use crate::walker::Walker;
use crate::walker::event::Effect;
use graph_core::hook_event::HookEvent;
use graph_core::limits::HostUse;
use graph_core::record::{HookRecord, HookSummary, PlannedHook, Record, StatusRecord};

impl Walker {
    /// Fuel used by everything that has committed, and by the hooks that were asked about the run since.
    pub(in crate::walker) const fn fuel_so_far(&self) -> u64 {
        self.usage.fuel().saturating_add(self.hooks.fuel)
    }

    /// Use of the host by everything that has committed, and by the hooks that were asked about the run since.
    pub(in crate::walker) fn host_so_far(&self) -> HostUse {
        self.usage.host().plus(self.hooks.used_of_host())
    }

    /// The fuel of [`Self::host_so_far`] alone, which each piece of work reads: calls without a result use none.
    pub(in crate::walker) fn host_fuel_so_far(&self) -> u64 {
        self.usage.host().fuel.saturating_add(self.hooks.host.fuel)
    }

    /// The stored bytes of [`Self::host_so_far`] alone.
    pub(in crate::walker) fn host_stored_so_far(&self) -> u64 {
        self.usage.host().stored.saturating_add(self.hooks.host.stored)
    }

    /// Turns the results so far into history, at a new boundary.
    pub(in crate::walker) fn begin_boundary_of_hooks(&mut self) {
        self.usage.add_hooks(self.hooks.fuel, self.hooks.used_of_host());
        self.hooks.lost.clear();
        self.hooks.cut_off.clear();
        self.hooks.dispatched.clear();
        (self.hooks.fuel, self.hooks.counted) = (0, 0);
        (self.hooks.host, self.hooks.counted_host) = (HostUse::default(), HostUse::default());
        let results = std::mem::take(&mut self.hooks.results);
        self.hooks.unwritten.extend(results.values().map(HookSummary::from_record));
        self.hooks.recorded.clear();
        self.hooks.planned.clear();
        self.hooks.passed = false;
        self.hooks.resumes = 0;
        self.hooks.max_steps_at_boundary = self.hooks.max_steps;
        self.warnings.reach_boundary();
    }

    /// Takes over the results of hooks from `of` when the run goes back: they are history, and their fuel is used.
    pub(in crate::walker) fn carry_hooks(&mut self, of: &Self) {
        self.hooks = Hooks {
            fuel: of.hooks.fuel,
            counted: of.hooks.counted,
            host: of.hooks.host,
            counted_host: of.hooks.counted_host,
            lost: of.hooks.lost.clone(),
            cut_off: of.hooks.cut_off.clone(),
            dispatched: of.hooks.dispatched.clone(),
            results: of.hooks.results.clone(),
            recorded: of.hooks.recorded.clone(),
            unwritten: of.hooks.unwritten.clone(),
            max_steps: of.hooks.max_steps,
            max_steps_at_boundary: of.hooks.max_steps,
            ..Hooks::default()
        };
        self.warnings.reach_boundary();
    }

    /// Restores the hooks from their records.
    pub(in crate::walker) fn restore_hooks(
        &mut self,
        planned: Vec<PlannedHook>,
        results: Vec<HookRecord>,
        max_steps: Option<u64>,
        status: Option<&StatusRecord>,
    ) {
        // A reservation replaces an earlier result of its call: its totals include the use of that result.
        let of_run = results.iter().filter(|record| record.event != HookEvent::Error);
        let fuel = of_run.clone().map(|record| record.fuel_total).fold(self.usage.fuel(), u64::max);
        let host = of_run.map(|record| record.host_total).fold(self.usage.host(), HostUse::max);
        let mut known = Hooks::default();
        for record in &results {
            let cut_off = if record.reserved { record.lost.plus(record.host.model) } else { record.lost };
            known.lose(&record.call, cut_off, record.event == HookEvent::Error);
            if record.reserved && record.dispatches > 1 {
                known.dispatched.insert(record.call.clone(), record.dispatches - 1);
            }
        }
        let results: Vec<HookRecord> = results.into_iter().filter(|record| !record.reserved).collect();
        if let Some(total) = max_steps {
            self.limits.set_max_steps(total);
        }
        self.hooks = Hooks {
            fuel: fuel - self.usage.fuel(),
            counted: status.map_or(0, |status| status.hooks_fuel),
            host: host.less(self.usage.host()),
            counted_host: status.map_or(HostUse::default(), |status| status.hooks_host),
            planned,
            passed: status.is_some_and(|status| status.hooks_passed),
            resumes: status.map_or(0, |status| status.resumes),
            recorded: results.iter().map(|record| record.call.clone()).collect(),
            results: results.into_iter().map(|record| (record.call.clone(), record)).collect(),
            max_steps,
            max_steps_at_boundary: max_steps,
            ..known
        };
        self.warnings.reach_boundary();
    }

    /// Returns the results of the hooks that were asked about the end of the run.
    pub(in crate::walker) fn hooked_at_the_end(&self) -> Vec<HookSummary> {
        if self.stop.end().is_none() || !self.hooks.passed {
            return Vec::new();
        }
        self.hooks.results.values().map(HookSummary::from_record).collect()
    }

    /// Persists the results of hooks that are not yet persisted, at a suspension: all of them under `durability: exit`,
    /// otherwise those without a dispatch. A process that resumes the run does not ask these hooks again.
    pub(in crate::walker) fn write_hooks(&mut self, fx: &mut Vec<Effect>) {
        let (checkpoint, sequence) = self.position.under();
        for record in std::mem::take(&mut self.hooks.cut_off) {
            self.persist(Record::Hook(HookRecord { checkpoint, sequence, ..record }), fx);
        }
        let recorded = &self.hooks.recorded;
        let left = self.hooks.results.values().filter(|record| !recorded.contains(&record.call));
        for record in left.cloned().collect::<Vec<_>>() {
            self.hooks.recorded.insert(record.call.clone());
            self.persist(Record::Hook(HookRecord { checkpoint, sequence, ..record }), fx);
        }
    }
}
