//! Cache of results: the result of a task is used for a later task with the same key, which is then not dispatched.
//!
//! A committed superstep stores its results with its checkpoint, so that the cache follows from the run's records,
//! wherever the run is cut short. The choice of a result depends on recorded times only. The fuel that it took is
//! charged again, so that a run has the same result digests with the cache and without it.

use std::cmp::Ordering;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::graph::{CachePolicy, Node};
use crate::walker::Walker;
use crate::walker::budget::run_budget::NodeWorkError;
use crate::walker::event::{Effect, Event, Notice, TaskSpec};
use crate::walker::machine::illegal;
use crate::walker::setup::HandleError;
use crate::walker::tasks::superstep::ActivatedNode;
use crate::walker::tasks::task::{Task, TaskState};
use graph_core::digest::{Digest, DomainHasher};
use graph_core::json;
use graph_core::node::{Category, Failure, Outcome};
use graph_core::record::{CacheEntry, CacheHit, CanonicalValue, SignedCacheEntry, TaskCache};
use graph_core::time::Timestamp;
use graph_core::trust::VerifyingKey;
use graph_core::work::{Meter, size};

/// A task for which a cached result may be used.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// The digest of the task's input.
    request: Digest,
    /// Age that a usable result must not have reached.
    ttl: Duration,
    /// The run's id in the store.
    run: String,
    /// The attempt that is dispatched if there is no cached result.
    pub spec: Box<TaskSpec>,
}

/// The driver's answer to a lookup.
#[derive(Debug, Default)]
pub struct Answered {
    /// The cache key of the task's result; none if the component that would perform the task is not known, or if no
    /// cached result may be used.
    pub key: Option<Digest>,
    /// The cached result to use.
    pub found: Option<CacheEntry>,
    /// The reason why a stored result cannot be used.
    pub trouble: Option<String>,
}

impl Lookup {
    /// Returns the cache key of the task's result. `performer` is a digest of the component, its grant and the engine.
    pub fn key(&self, performer: &Digest) -> Digest {
        CacheEntry::key(&self.request, performer)
    }

    /// Returns the range of recorded times of usable results; the last is the superstep's own time.
    pub fn window(&self) -> RangeInclusive<Timestamp> {
        let until = self.spec.clock;
        let ttl = u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX);
        // A result as old as the `ttl` has expired.
        Timestamp(until.0.saturating_sub(ttl.saturating_sub(1)))..=until
    }

    /// Checks whether a cached result may be used for the task. It must be younger than the node's `ttl` and not from the future,
    /// since then a clock was set back and its age is unknown. The task must have as much fuel left as the result took. The result
    /// must not come from a parallel task of the same run, because the order in which the two finish is a matter of chance.
    fn takes(&self, entry: &CacheEntry) -> bool {
        self.window().contains(&entry.at)
            && entry.fuel <= self.spec.limits.fuel
            && (entry.run != self.run || comes_before(&entry.task, &self.spec.activation.task))
    }

    /// Returns the newest usable result.
    pub(in crate::walker) fn best(
        &self,
        entries: impl IntoIterator<Item = CacheEntry>,
    ) -> Option<CacheEntry> {
        entries.into_iter().filter(|entry| self.takes(entry)).max_by(newest)
    }

    /// Chooses from the stored results within [`Self::window`]: the newest usable one that this host has signed. Results that
    /// are still being written (`on_the_way`) need no signature, because no other process can have changed them.
    pub fn choose(
        &self,
        key: Digest,
        stored: &[SignedCacheEntry],
        on_the_way: impl IntoIterator<Item = CacheEntry>,
        signer: &VerifyingKey,
    ) -> Answered {
        let decoded = stored.iter().filter_map(|signed| Some((signed.decode().ok()?, signed)));
        let mut of_use: Vec<_> = decoded.filter(|(entry, _)| self.takes(entry)).collect();
        of_use.sort_by(|(one, _), (other, _)| newest(other, one));
        let mut trouble = None;
        let opened = of_use.into_iter().find_map(|(_, signed)| {
            let entry = signed.open(signer).map_err(|error| trouble.get_or_insert(error.to_string()).len());
            entry.ok().filter(|entry| entry.key == key)
        });
        let found = self.best(on_the_way.into_iter().chain(opened));
        Answered { key: Some(key), found, trouble }
    }

    /// Returns the event that answers the lookup.
    pub fn answer(&self, answered: Answered) -> Event {
        let Answered { key, found, trouble } = answered;
        let (task, attempt) = (self.spec.activation.task.as_str().into(), self.spec.activation.attempt);
        Event::LookedUp { task, attempt, key, found: found.map(Box::new), trouble }
    }
}

/// Compares entries by time, then by run and task, so that the order is total.
fn newest(one: &CacheEntry, other: &CacheEntry) -> Ordering {
    (one.at, &one.run, &one.task).cmp(&(other.at, &other.run, &other.task))
}

/// The state of a task with respect to the cache.
#[derive(Debug, Default)]
pub(in crate::walker) struct CacheState {
    /// The lookup that waits for an answer.
    waiting: Option<Lookup>,
    /// The result of the lookup.
    cache: Option<TaskCache>,
}

impl CacheState {
    /// Restores the recorded state of a task whose superstep has not committed.
    pub(in crate::walker) const fn new(cache: Option<TaskCache>) -> Self {
        Self { waiting: None, cache }
    }

    /// Returns the result of the lookup, for a record.
    #[inline]
    pub(in crate::walker) const fn cache(&self) -> Option<&TaskCache> {
        self.cache.as_ref()
    }

    /// The result of the lookup.
    pub(in crate::walker) fn into_cache(self) -> Option<TaskCache> {
        self.cache
    }

    /// Forgets the lookup of an attempt that is abandoned.
    pub(in crate::walker) fn forget_lookup(&mut self) {
        self.waiting = None;
    }

    /// Returns the cached result that was used instead of the task's dispatch.
    pub(in crate::walker) fn hit(&self) -> Option<&CacheHit> {
        match &self.cache {
            Some(TaskCache::Hit(hit)) => Some(hit),
            _ => None,
        }
    }

    /// Sets the fuel that an attempt has used.
    pub(in crate::walker) const fn took(&mut self, used: u64) {
        if let Some(TaskCache::Miss { fuel, .. }) = &mut self.cache {
            *fuel = used;
        }
    }
}

/// Returns the failure of a node with a `cache` whose item is a graph.
pub(in crate::walker) fn not_for_graphs(node: &str, graph: &str) -> Failure {
    let message = format!(
        "node `{node}` has a `cache`, and its item `{graph}` is a graph: the result of a graph is not kept; give the \
         nodes inside it a `cache`"
    );
    Failure::new(Category::InvalidInput, message)
}

impl Walker {
    /// Dispatches an attempt, or first asks the driver for a cached result. Only the first attempt of a task without
    /// answers can have one: answers of users are not part of any key.
    pub(in crate::walker) fn dispatch(
        &mut self,
        now: Timestamp,
        at: usize,
        node: &Node,
        spec: Box<TaskSpec>,
        fx: &mut Vec<Effect>,
    ) {
        let is_fresh = spec.activation.answers.is_empty();
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let caching = superstep.task_mut(at).caching_mut();
        if !is_fresh || spec.activation.attempt == 1 || caching.hit().is_some() {
            caching.cache = None;
        }
        let Some(policy) = node.cache.as_ref().filter(|_| is_fresh && spec.activation.attempt == 1) else {
            return self.perform(at, spec, fx);
        };
        let meter = superstep.tasks()[at].account().meter();
        let request = self.request_digest(at, node, policy, &spec, &meter);
        self.count_task_work(at, meter.spent());
        match request {
            Ok(request) => {
                let Some(superstep) = self.phase.superstep_mut() else { return };
                let run = self.setup.identity.record_run().to_owned();
                let lookup = Lookup { request, ttl: policy.ttl, run, spec };
                superstep.task_mut(at).caching_mut().waiting = Some(lookup.clone());
                fx.push(Effect::LookUp(Box::new(lookup)));
            }
            Err(error) => self.end_with_error(now, at, error, fx),
        }
    }

    fn perform(&mut self, at: usize, spec: Box<TaskSpec>, fx: &mut Vec<Effect>) {
        let Some(superstep) = self.phase.superstep_mut() else { return };
        superstep.task_mut(at).account_mut().begin();
        fx.push(Effect::RunTask(spec));
    }

    /// Digests a task's input: everything that its result may depend on and that the walker knows. Facts about the run
    /// (its id, the visit, the superstep, seeds and times) are not part of it, unless `key` names them.
    fn request_digest(
        &mut self,
        at: usize,
        node: &Node,
        policy: &CachePolicy,
        spec: &TaskSpec,
        meter: &Meter,
    ) -> Result<Digest, NodeWorkError> {
        let mut warnings = Vec::new();
        let own = match (&policy.key, self.phase.superstep()) {
            (Some(template), Some(superstep)) => {
                let task = &superstep.tasks()[at];
                let active: &ActivatedNode = &superstep.activated()[task.activated()];
                let context = self.context(node, active, meter)?;
                let item = task.foreach_item(node);
                let scope =
                    self.scope(&context, active.argument().map(|argument| &**argument), item.as_ref());
                self.evaluate(template, &scope, node, &mut warnings, meter)?
            }
            _ => Value::Null,
        };
        if let Some(superstep) = self.phase.superstep_mut() {
            superstep.task_mut(at).add_warnings(warnings);
        }
        // Each value is serialized once more, for the digest.
        let written = |value: &Value| size::charge(value, meter).map(|()| json::canonical_string(value));
        let argument = spec.activation.argument.as_ref().map(written).transpose()?.unwrap_or_default();
        let mut digest = DomainHasher::new("graph-host/cache-given/v1")
            .field(spec.item_id.as_bytes())
            .field(written(&spec.params)?.as_bytes())
            .field(argument.as_bytes())
            .field(written(&own)?.as_bytes());
        if let Some(narrowing) = &spec.narrowing {
            let patterns = narrowing.iter().map(ToString::to_string).collect();
            digest = digest.field(written(&patterns)?.as_bytes());
        }
        Ok(digest.finish())
    }

    /// Handles the answer of the driver to a lookup.
    pub(in crate::walker) fn looked_up(
        &mut self,
        now: Timestamp,
        task: &Arc<str>,
        attempt: u32,
        answered: Answered,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        if self.aborted.remove(&(Arc::clone(task), attempt)) {
            return Ok(());
        }
        let Answered { key, found, trouble } = answered;
        let Some(superstep) = self.phase.superstep_mut() else {
            return Err(illegal("no superstep is under way"));
        };
        let Some(at) = superstep.find(task) else { return Err(illegal("there is no such task")) };
        let node_index = superstep.node_of(&superstep.tasks()[at]);
        let asked = superstep.task_mut(at);
        if !matches!(asked.state(), TaskState::Running) || asked.attempt() != attempt {
            return Err(illegal("that attempt is not under way"));
        }
        let Some(lookup) = asked.caching_mut().waiting.take() else {
            return Err(illegal("nothing was looked up for that task"));
        };
        let graph = Arc::clone(&self.graph);
        let node = graph.node(node_index);
        if let Some(trouble) = trouble {
            let name = &node.name;
            fx.push(Effect::Emit(Notice::Warning(format!("node `{name}` is dispatched again: {trouble}"))));
        }
        // A result that is not in a checkpoint yet is newer than those in the store.
        let own = key.and_then(|key| self.unwritten.result(&key)).cloned();
        let found = found.into_iter().chain(own).filter(|entry| key == Some(entry.key));
        if let Some(entry) = lookup.best(found) {
            self.take_cached(now, at, node, entry, fx);
        } else {
            if let Some(superstep) = self.phase.superstep_mut() {
                superstep.task_mut(at).caching_mut().cache = key.map(|key| TaskCache::Miss { fuel: 0, key });
            }
            self.perform(at, lookup.spec, fx);
        }
        self.start_ready(now, fx);
        Ok(())
    }

    /// Returns the best of these results for a task that waits for a lookup, if any is usable.
    pub(in crate::walker) fn best_for(
        &self,
        task: &str,
        entries: impl IntoIterator<Item = CacheEntry>,
    ) -> Option<CacheEntry> {
        self.task(task)?.caching().waiting.as_ref()?.best(entries)
    }

    /// Uses a cached result instead of a dispatch.
    fn take_cached(
        &mut self,
        now: Timestamp,
        at: usize,
        node: &Node,
        entry: CacheEntry,
        fx: &mut Vec<Effect>,
    ) {
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let task = superstep.task_mut(at);
        task.account_mut().charge_fuel(entry.fuel);
        fx.push(Effect::Emit(Notice::Cached {
            task: Arc::clone(task.id()),
            node: node.name.clone(),
            fuel: entry.fuel,
            run: entry.run.clone(),
        }));
        let result = Value::clone(&entry.result.0);
        task.caching_mut().cache = Some(TaskCache::Hit(Box::new(entry.into())));
        superstep.add_memory(size::of(&result));
        self.accept(now, at, Outcome::Result(result), fx);
    }

    /// Returns the cache entry that a task of a committing superstep adds to its checkpoint, if any.
    pub(in crate::walker) fn result_to_keep(&self, node: &Node, task: &Task) -> Option<CacheEntry> {
        let (Some(TaskCache::Miss { fuel, key }), TaskState::Done(answer), Some(policy)) =
            (task.caching().cache(), task.state(), &node.cache)
        else {
            return None;
        };
        let Outcome::Result(result) = &*answer.outcome else { return None };
        Some(CacheEntry {
            at: self.position.at(),
            expires: self.position.at().after(policy.ttl),
            fuel: *fuel,
            key: *key,
            node: node.name.clone(),
            result: CanonicalValue::from(result.clone()),
            run: self.setup.identity.record_run().to_owned(),
            task: task.id().to_string(),
        })
    }
}

/// Returns `true` if one task of a run had committed before another began: where their ids first differ, its superstep is an earlier one.
fn comes_before(one: &str, other: &str) -> bool {
    let superstep = |part: &str| part.split_once('.').and_then(|(number, _)| number.parse::<u64>().ok());
    let parting = one.split('/').zip(other.split('/')).find(|(one, other)| one != other);
    match parting.map(|(one, other)| (superstep(one), superstep(other))) {
        Some((Some(one), Some(other))) => one < other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::comes_before;

    #[test]
    fn a_task_comes_before_those_of_later_supersteps_of_the_run_that_they_share() {
        assert!(comes_before("1.0", "2.0"));
        assert!(comes_before("9.5", "10.0"));
        assert!(comes_before("3.0/1.4", "3.0/2.0"));
        assert!(comes_before("2.7/9.0", "3.0/1.0"));
        assert!(comes_before("2.0", "3.0/1.0"));
        for (one, other) in [
            ("2.0", "1.0"),
            ("2.0", "2.1"),
            ("2.0", "2.0"),
            // Child runs of one superstep run in parallel.
            ("3.0/1.0", "3.1/2.0"),
            ("3.0/1.0", "3.0"),
            ("3.0", "3.0/1.0"),
            // The superstep was repeated: its earlier results were discarded.
            ("1.0/2.0", "1.0@1/3.0"),
            ("", "1.0"),
        ] {
            assert!(!comes_before(one, other), "{one} {other}");
        }
    }
}
