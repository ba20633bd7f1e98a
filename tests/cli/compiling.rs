//! Compilation in a child process: its limits, and the reports of its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use graph_core::trust::{TrustStore, VerifiedComponent};
use graph_engine::{
    CacheStatus, CompileError, CompileLimits, CompileObserver, Compiler, Engine, EngineConfig, LoadError,
};

#[cfg(unix)]
use crate::place::install_program;

fn compiler() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_graph-host"))
}

fn load(program: PathBuf, limits: CompileLimits, bytes: &[u8]) -> Result<(), LoadError> {
    let config = EngineConfig {
        compiler: Compiler::Child(program),
        compile_limits: limits,
        concurrency: Some(1),
        ..EngineConfig::default()
    };
    let component =
        VerifiedComponent::under_development(bytes.into(), "t/c", &TrustStore::default()).unwrap();
    Engine::new(config).unwrap().load(&component).map(|_| ())
}

fn failure(program: PathBuf, limits: CompileLimits, bytes: &[u8]) -> CompileError {
    match load(program, limits, bytes) {
        Err(LoadError::Compile { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

/// Makes a component that takes some seconds to compile and is within every limit.
fn slow() -> Vec<u8> {
    let body = "(local.set 0 (f32.add (local.get 0) (local.get 0)))".repeat(70_000);
    let function = format!("(func (param f32) {body})");
    wat::parse_str(format!("(component (core module {function}{function}{function}{function}))")).unwrap()
}

#[test]
fn a_child_that_goes_over_a_limit_is_told_by_which() {
    let fine = CompileLimits::DEFAULT;
    let small = wat::parse_str("(component (core module (func)))").unwrap();
    load(compiler(), fine, &small).unwrap();
    let slow = slow();
    let cpu = CompileLimits { cpu: Duration::from_secs(1), cpu_per_mib: Duration::ZERO, ..fine };
    assert!(matches!(failure(compiler(), cpu, &slow), CompileError::Cpu(_)));
    let memory = CompileLimits { memory: 100 << 20, ..fine };
    let error = failure(compiler(), memory, &slow);
    assert!(matches!(error, CompileError::Memory(_)), "{error}");
    let deadline = CompileLimits { deadline: Duration::from_millis(300), ..fine };
    let began = Instant::now();
    assert!(matches!(failure(compiler(), deadline, &slow), CompileError::Deadline(_)));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[cfg(unix)]
#[test]
fn a_child_that_ends_or_talks_nonsense_harms_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let program = |name: &str, text: &str| {
        let path = folder.path().join(name);
        install_program(&path, format!("#!/bin/sh\n{text}\n").as_bytes());
        path
    };
    let bytes = wat::parse_str("(component)").unwrap();
    let fails = |program: PathBuf| failure(program, CompileLimits::DEFAULT, &bytes);
    let crashed = fails(program("crash", "echo \"a $(printf '\\033')[31mbug\" >&2; kill -SEGV $$"));
    let CompileError::Crashed(said) = &crashed else { panic!("{crashed}") };
    assert!(said.contains("signal: 11") && said.contains("bug") && !said.contains('\u{1b}'), "{said}");
    assert!(
        matches!(fails(program("refuse", "echo no; exit 3")), CompileError::Invalid(said) if said == "no")
    );
    assert!(matches!(fails(program("nonsense", "cat; echo nonsense")), CompileError::Invalid(_)));
    assert!(matches!(fails(program("nothing", "exit 0")), CompileError::Invalid(_)));
    assert!(matches!(fails(folder.path().join("none")), CompileError::Start(_)));
    // The child gets the component and its limits, and nothing else of this process: no arguments, no environment, no folder.
    let told = program(
        "told",
        "echo \"$@ $(pwd) $(env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= | tr '\\n' ' ')\"; exit 3",
    );
    let CompileError::Invalid(said) = fails(told) else { panic!() };
    let expected = format!("{} / RAYON_NUM_THREADS=", graph_engine::COMPILE_ARGUMENT);
    assert!(said.starts_with(&expected) && said.split(' ').count() == 3, "{said}");
}

#[derive(Debug, Default)]
struct Told(AtomicUsize);

impl CompileObserver for Told {
    fn slow(&self, id: &str, bytes: usize) {
        assert!(id == "t/c" && bytes > 1000);
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn what_takes_long_is_told_once_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let told = Arc::new(Told::default());
    let component =
        VerifiedComponent::under_development(slow().into(), "t/c", &TrustStore::default()).unwrap();
    let load = |cache: &Path| {
        let config = EngineConfig {
            cache_dir: Some(cache.to_owned()),
            compiler: Compiler::Child(compiler()),
            compile_observer: Some(told.clone()),
            concurrency: Some(1),
            ..EngineConfig::default()
        };
        Engine::new(config).unwrap().load(&component).unwrap().cache_status().clone()
    };
    assert_eq!(load(folder.path()), CacheStatus::Stored);
    assert_eq!(load(folder.path()), CacheStatus::Hit);
    assert_eq!(told.0.load(Ordering::Relaxed), 1);
}
