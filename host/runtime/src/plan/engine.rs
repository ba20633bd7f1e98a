//! Makes the engine that compiles and calls components, and the means to admit them.

use std::sync::Arc;

use graph_core::trust::TrustStore;
use graph_engine::{Engine, EngineConfig};
use graph_walker::host_item::HostItem;

use crate::error::{Error, Result};
use crate::host::Host;
use crate::items::locate::{ItemLocator, moment_of_superstep};
use crate::notice::CompileNotices;
use crate::plan::admission::Components;
use crate::plan::manifest_authority::AcceptedManifest;
use crate::project::cache_limit;

/// Makes the engine, with the user's cache of compiled components.
pub fn engine(host: &Host) -> Result<Engine> {
    let config = EngineConfig {
        cache_dir: Some(host.home.cache().to_path_buf()),
        cache_bytes: cache_limit::limit()?,
        compiler: host.compiler.clone(),
        compile_observer: Some(Arc::new(CompileNotices(Arc::clone(&host.notices)))),
        ..EngineConfig::default()
    };
    Engine::new(config).map_err(|error| Error::storage(error.to_string()).caused_by(error))
}

/// Makes the components of a run context.
pub fn components(
    engine: Engine,
    locator: ItemLocator,
    trust: TrustStore,
    manifest: AcceptedManifest,
    allow_unsigned: bool,
) -> Components {
    // No key signs a graph that a run writes: if the user requires signatures of such graphs, none runs.
    let manifest = match trust.still_enough(HostItem::Run.id(), &[], moment_of_superstep(None)) {
        Ok(()) => manifest,
        Err(few) => {
            let why = format!("no key signs a graph that a run writes itself: {few}");
            manifest.narrowed(|manifest| manifest.clone().without_written_graphs(&why))
        }
    };
    Components {
        engine,
        locator,
        trust,
        manifest,
        allow_unsigned,
        kept_texts: Arc::default(),
        recorded: None,
        log: None,
        signing_key: None,
        without_secrets: false,
        functions: Arc::default(),
    }
}
