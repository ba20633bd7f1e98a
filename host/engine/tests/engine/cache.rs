//! Compiled components on disk are used only if they are unchanged.

use std::fs;
use std::path::{Path, PathBuf};

use graph_engine::{CacheStatus, Engine, EngineConfig};
use serde_json::json;

use crate::support::{TESTKIT, TESTKIT_IO, call, component, nothing, value};

/// Creates a new engine, so that nothing is in memory, and loads a component.
fn load(folder: &Path, bytes: &[u8]) -> (Engine, graph_engine::LoadedComponent) {
    let config =
        EngineConfig { cache_dir: Some(folder.to_owned()), concurrency: Some(1), ..EngineConfig::default() };
    let engine = Engine::new(config).unwrap();
    let loaded = engine.load(&component(bytes)).unwrap();
    (engine, loaded)
}

fn artifacts(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "artifact"))
        .collect();
    paths.sort();
    paths
}

#[tokio::test]
async fn the_second_load_is_a_hit_and_works() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("deep/cache");
    assert_eq!(load(&cache, TESTKIT).1.cache_status(), &CacheStatus::Stored);
    let (engine, loaded) = load(&cache, TESTKIT);
    assert_eq!(loaded.cache_status(), &CacheStatus::Hit);
    let node = engine.prepare(&loaded, None, &nothing()).unwrap();
    assert_eq!(value(&call(&node, json!({"op": "echo", "value": 1})).await), &json!(1));
}

#[test]
fn a_component_that_several_threads_need_is_compiled_once() {
    let engine = Engine::new(EngineConfig { concurrency: Some(1), ..EngineConfig::default() }).unwrap();
    let loaded: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| engine.load(&component(TESTKIT)).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // All threads have the component that one of them has compiled.
    assert!(loaded.iter().all(|each| each.imports().as_ptr() == loaded[0].imports().as_ptr()));
}

#[test]
fn a_changed_file_is_never_loaded() {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), TESTKIT);
    let path = artifacts(folder.path()).remove(0);
    let good = fs::read(&path).unwrap();
    for place in [0, 31, 32, 40, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[place] ^= 1;
        fs::write(&path, &bad).unwrap();
        assert_eq!(load(folder.path(), TESTKIT).1.cache_status(), &CacheStatus::Stored, "byte {place}");
        assert_eq!(fs::read(&path).unwrap().len(), good.len(), "it is replaced");
    }
    for bad in [&[][..], &good[..20], &good[..good.len() - 1]] {
        fs::write(&path, bad).unwrap();
        assert_eq!(load(folder.path(), TESTKIT).1.cache_status(), &CacheStatus::Stored);
    }
    assert_eq!(load(folder.path(), TESTKIT).1.cache_status(), &CacheStatus::Hit);
}

#[test]
fn another_components_file_is_never_loaded() {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), TESTKIT);
    let first = artifacts(folder.path()).remove(0);
    load(folder.path(), TESTKIT_IO);
    let other = artifacts(folder.path()).into_iter().find(|path| *path != first).unwrap();
    fs::copy(&other, &first).unwrap();
    assert_eq!(load(folder.path(), TESTKIT).1.cache_status(), &CacheStatus::Stored);
}

#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_replaced() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), TESTKIT);
    let key = folder.path().join("key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let before = fs::read(&key).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(load(folder.path(), TESTKIT).1.cache_status(), &CacheStatus::Stored);
    assert_ne!(fs::read(&key).unwrap(), before);
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn without_a_usable_folder_it_compiles() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (_engine, loaded) = load(file.path(), TESTKIT);
    assert!(matches!(loaded.cache_status(), CacheStatus::NotStored(why) if !why.is_empty()));
}
