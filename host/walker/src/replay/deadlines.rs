//! Deadlines of child runs: a child run stops where its status record says, and attempts that had not ended by then are not executed.

use std::sync::Arc;

use graph_core::limits::ModelUse;
use graph_core::record::StatusRecord;

use super::recorded::reported;
use super::section::Section;
use crate::walker::{Event, HandleError, PersistId, TaskSpec, namespace_of, task_of_child};

impl Section {
    /// Checks whether a child run has reached the checkpoint at which its deadline passed.
    fn is_at(&self, stop: &StatusRecord) -> bool {
        self.reached.get(&stop.namespace) == Some(&stop.sequence)
    }

    /// Returns the record of the run in a namespace, or of the closest one around it, whose deadline passes at its present checkpoint.
    pub(super) fn overdue_around(&self, namespace: &str) -> Option<&Arc<StatusRecord>> {
        let mut around = namespace;
        while !around.is_empty() {
            let stop = self.overdue.iter().find(|stop| stop.namespace == around && self.is_at(stop));
            if stop.is_some() {
                return stop;
            }
            around = namespace_of(around);
        }
        None
    }

    /// Checks whether an attempt was under way, or had not started, when the deadline of its child run or of one around it passed.
    pub(super) fn was_cut(&self, spec: &TaskSpec) -> bool {
        let (task, attempt) = (spec.activation.task.as_str(), spec.activation.attempt);
        let namespace = namespace_of(task);
        let dispatch = self.dispatches.get(task).copied().unwrap_or_default() + 1;
        match self.overdue_around(namespace) {
            Some(_) if self.recorded.has_ended(task, dispatch) => false,
            Some(stop) if stop.namespace == namespace => stop.tasks.get(task).map_or(0, reported) < attempt,
            Some(_) => {
                let reached = self.reached.get(namespace).copied();
                self.recorded.next_mark(namespace, reached).is_none()
                    && self.recorded.reported(task) < attempt
            }
            None => false,
        }
    }

    /// Returns the next record that was stored. A stop that no run was notified of then is not reported now either.
    pub(super) fn next_persisted(&mut self) -> Option<(PersistId, String)> {
        if self.untold.is_some() { None } else { self.persisted.pop_front() }
    }

    /// Returns the next attempt. Attempts are held back that may lead to a stop that no run was notified of.
    pub(super) fn next_task(&mut self) -> Option<TaskSpec> {
        let waits = |spec: &TaskSpec| {
            let mut namespace = namespace_of(&spec.activation.task);
            while !namespace.is_empty() && !self.is_untold(namespace) {
                namespace = namespace_of(namespace);
            }
            !namespace.is_empty()
        };
        let at = self.tasks.iter().position(|spec| self.overdue.is_empty() || !waits(spec))?;
        self.tasks.remove(at)
    }

    /// Returns the index of the child run whose deadline passes next.
    pub(super) fn next_overdue(&self) -> Option<usize> {
        let of_untold = |stop: &StatusRecord| self.untold.as_ref().is_none_or(|of| stop.namespace == *of);
        self.overdue.iter().position(|stop| self.is_at(stop) && of_untold(stop))
    }

    /// Charges the model use that an attempt had reserved when it was cut off.
    pub(super) fn set_aside(&mut self, spec: &TaskSpec) -> Result<(), HandleError> {
        let task = &spec.activation.task;
        let namespace = namespace_of(task).to_owned();
        let stop = self.overdue_around(&namespace).filter(|stop| stop.namespace == namespace);
        let Some(used) = stop.and_then(|stop| stop.tasks.get(task)).or_else(|| self.recorded.stopped(task))
        else {
            return Ok(());
        };
        let charged = if self.lost.contains(task) { self.task_records(task).lost } else { ModelUse::NOTHING };
        let model = used.lost.less(charged);
        if model.is_nothing() {
            return Ok(());
        }
        let name = used.lost_models.keys().next_back().map(|name| name.as_str().into());
        let event = Event::ModelReserved {
            task: task.as_str().into(),
            attempt: spec.activation.attempt,
            model,
            name,
        };
        self.handle(&namespace, event)
    }

    /// Checks whether a child run stopped by itself, and the deadline of the run around it passed before that run was notified.
    pub(super) fn is_untold(&self, namespace: &str) -> bool {
        let (task, parent) = (task_of_child(namespace), namespace_of(namespace));
        let dispatch = self.dispatches.get(task).copied().unwrap_or_default();
        if self.recorded.first_release || self.recorded.has_ended(task, dispatch) {
            return false;
        }
        match self.overdue_around(parent) {
            Some(stop) if stop.namespace == parent => true,
            Some(_) => {
                let reached = self.reached.get(parent).copied();
                self.recorded.next_mark(parent, reached).is_none() && self.recorded.reported(task) == 0
            }
            None => false,
        }
    }
}
