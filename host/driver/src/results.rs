//! Access to the cached results of earlier tasks. The walker decides which of them are used.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::digest::Digest;
use graph_core::record::CacheEntry;
use graph_core::trust::VerifyingKey;
use graph_store::CheckpointStore;
use graph_walker::walker::{Answered, Event, Lookup};

use crate::executor::TaskExecutor;

/// Results that the writer may not have stored yet, by key and namespace.
type OnTheWay = BTreeMap<(Digest, String), CacheEntry>;

/// The results in the store, and those that the writer may not have stored yet.
pub(crate) struct CachedResults {
    store: Arc<dyn CheckpointStore>,
    signer: VerifyingKey,
    on_the_way: Arc<OnTheWay>,
    /// True if no cached result is used, and none is stored.
    off: bool,
}

impl CachedResults {
    pub(crate) fn new(store: Arc<dyn CheckpointStore>, signer: VerifyingKey) -> Self {
        Self { store, signer, on_the_way: Arc::default(), off: false }
    }

    /// Stops using the cache: from now on every task is dispatched, and no result is stored.
    pub(crate) const fn switch_off(&mut self) {
        self.off = true;
    }

    /// Adds results that were passed to the writer.
    pub(crate) fn handed_out(&mut self, results: &[CacheEntry]) {
        if !results.is_empty() {
            let placed =
                results.iter().map(|entry| ((entry.key, entry.namespace().to_owned()), entry.clone()));
            Arc::make_mut(&mut self.on_the_way).extend(placed);
        }
    }

    /// Forgets the results that were passed to the writer, because all of them are stored.
    pub(crate) fn stored(&mut self) {
        if !self.on_the_way.is_empty() {
            self.on_the_way = Arc::default();
        }
    }

    /// Looks up the cached results of a task. This may have to load the task's component.
    pub(crate) fn look_up(&self, lookup: Lookup, executor: &dyn TaskExecutor) -> BoxFuture<'static, Event> {
        if self.off {
            return futures::future::ready(lookup.answer(Answered::default())).boxed();
        }
        let performer = executor.performer(&lookup.spec);
        let (store, signer, on_the_way) =
            (Arc::clone(&self.store), self.signer, Arc::clone(&self.on_the_way));
        async move {
            let Some(performer) = performer.await else { return lookup.answer(Answered::default()) };
            let key = lookup.key(&performer);
            let under = on_the_way.range((key, String::new())..).take_while(|((of, _), _)| *of == key);
            let on_the_way = under.map(|(_, entry)| entry.clone());
            let answered = match store.results(&key, lookup.window()) {
                Ok(stored) => lookup.choose(key, &stored, on_the_way, &signer),
                // A result that cannot be read is computed again.
                Err(error) => Answered { key: Some(key), found: None, trouble: Some(error.to_string()) },
            };
            lookup.answer(answered)
        }
        .boxed()
    }
}

impl fmt::Debug for CachedResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedResults")
            .field("store", &self.store)
            .field("on_the_way", &self.on_the_way.len())
            .field("off", &self.off)
            .finish_non_exhaustive()
    }
}
