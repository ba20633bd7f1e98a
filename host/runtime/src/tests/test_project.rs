//! A test's own folder, with a project, a user and the test components.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::record::Status;
use graph_core::trust::{SigningKey, TrustStore, VerifiedComponent, VerifyingKey, sign_text};
use graph_engine::Compiler;
use graph_store::{CheckpointStore, RunRow};
use graph_walker::walker::{Answers, Summary};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::authoring::signing::{Claims, Target, describe, kind_of_text, sign_component_file};
use crate::clock::now;
use crate::error::Result;
use crate::history::verify::{Audit, audit};
use crate::host::Host;
use crate::items::locate::envelope_path;
use crate::replay::{Mode, Replay, ReplaySources, replay};
use crate::run::stop_notes;
use crate::run::stores::Stores;
use crate::{
    BaseFolder, Home, PlanOptions, Project, ResumeOptions, Runtime, Sources, StartOptions, StoreKind,
};

/// A project in a folder of its own. Every operation opens it anew, as a process of its own does.
pub(super) struct TestProject {
    folder: tempfile::TempDir,
    /// Admits items without a signature.
    allow_unsigned: bool,
}

/// Folder of compiled components, below the folder of a test.
const CACHE: &str = "home/cache";

/// Returns the path of a test component of the examples.
pub(super) fn kit(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/nodes/.ai/tools/examples/{name}.wasm"))
}

impl TestProject {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".ai/tools/t")).unwrap();
        let project = Self { folder, allow_unsigned: true };
        std::fs::copy(kit("testkit"), project.path(".ai/tools/t/kit.wasm")).unwrap();
        project.write("caps.yaml", "dispatch: ['execute.tool.t.*']\n");
        project
    }

    /// Makes a project with `t/kit`, a component that performs its params, and a manifest that permits `t/*`.
    pub(super) async fn with_testkit() -> Self {
        // The component is compiled once for all tests.
        static COMPILED: OnceCell<Vec<(PathBuf, Vec<u8>)>> = OnceCell::const_new();
        let files = COMPILED.get_or_init(|| async {
            let first = Self::new();
            first.graph("compiled.yaml", "start: a\nnodes: { a: { action: { item_id: t/kit } } }");
            let graph = first.path("compiled.yaml").to_string_lossy().into_owned();
            first.runtime().plan_with(&graph, &first.plan_options()).await.unwrap();
            let files = std::fs::read_dir(first.path(CACHE)).unwrap().map(|entry| entry.unwrap().path());
            files.map(|file| (file.file_name().unwrap().into(), std::fs::read(&file).unwrap())).collect()
        });
        let project = Self::new();
        std::fs::create_dir_all(project.path(CACHE)).unwrap();
        for (name, bytes) in files.await {
            let file = project.path(CACHE).join(name);
            std::fs::write(&file, bytes).unwrap();
            // The host reads nothing from a cache that others can write or whose key they can read.
            #[cfg(unix)]
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        }
        project
    }

    /// Trusts the key of the test's user for `t/*`, and refuses items without a signature.
    pub(super) fn with_signed_items(self) -> Self {
        let key = user_key().verifying_key().hex();
        std::fs::create_dir_all(self.path("home")).unwrap();
        self.write(
            "home/trust.yaml",
            &format!("keys:\n  - {{ name: me, key: \"{key}\", items: ['t/*'] }}\n"),
        );
        Self { allow_unsigned: false, ..self }
    }

    /// Admits items without a signature from now on.
    pub(super) fn allowing_unsigned(self) -> Self {
        Self { allow_unsigned: true, ..self }
    }

    /// Signs an item with the key of the test's user.
    pub(super) async fn sign(&self, file: &str, version: &str) {
        let path = self.path(file);
        let id = Target::id(None, &path).unwrap();
        match Target::read(&path, &BaseFolder::default()).unwrap() {
            Target::Component { bytes } => {
                let component =
                    VerifiedComponent::under_development(bytes, id.path(), &TrustStore::default()).unwrap();
                let described = Box::pin(describe(&component, &self.host())).await.unwrap();
                let claims = Claims { id: id.path(), version, ceiling: None, limits: None };
                sign_component_file(&envelope_path(&path), &component, described, claims, &user_key())
                    .unwrap();
            }
            Target::Text { text, mark } => {
                let kind = kind_of_text(&path, &text);
                let signed = sign_text(kind, id.path(), &text, mark, &user_key(), now());
                std::fs::write(path, signed).unwrap();
            }
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Writes a graph document around its `config`.
    pub(super) fn graph(&self, name: &str, config: &str) {
        let indented = format!("  {}\n", config.trim_end().replace('\n', "\n  "));
        let head = "version: \"1\"\ntool_type: graph\nexecutor_id: graph-host\ncategory: tests\ndescription: a test\n";
        self.write(name, &format!("{head}config:\n{indented}"));
    }

    pub(super) fn host(&self) -> Host {
        let home = Home::at(self.path("home"));
        Host { home, compiler: Compiler::InProcess, notices: Arc::new(()), functions: Arc::default() }
    }

    pub(super) fn project(&self) -> Project {
        Project::at(self.folder.path().to_owned())
    }

    pub(super) fn runtime(&self) -> Runtime {
        Runtime::new(self.host(), self.project(), StoreKind::default())
    }

    /// Options of plans: the project's manifest, and items without signatures unless they are refused.
    pub(super) fn plan_options(&self) -> PlanOptions {
        let sources = Sources { allow_unsigned: self.allow_unsigned, ..Sources::default() };
        PlanOptions { sources, manifest: Some(self.path("caps.yaml")), sign_with: None }
    }

    /// Runs a graph until the run has ended or waits.
    pub(super) async fn run(&self, graph: &str, run_id: &str) -> Result<Summary> {
        self.run_with(graph, StartOptions { run_id: Some(run_id.to_owned()), ..StartOptions::default() })
            .await
    }

    /// Runs a graph with options until the run has ended or waits.
    pub(super) async fn run_with(&self, graph: &str, options: StartOptions) -> Result<Summary> {
        let runtime = self.runtime();
        let file = self.path(graph);
        let graph = if file.exists() { file.to_string_lossy().into_owned() } else { graph.to_owned() };
        let plan = runtime.plan_with(&graph, &self.plan_options()).await?;
        Box::pin(runtime.start_with(plan, options, ())).await?.outcome().await
    }

    /// Resumes a run until it has ended or waits.
    pub(super) async fn resume(&self, run: &str, options: impl Into<ResumeOptions>) -> Result<Summary> {
        Box::pin(self.runtime().resume(run, options, ())).await?.outcome().await
    }

    /// Accepts what has changed since a run was started, and resumes it.
    pub(super) async fn resume_changed(&self, run: &str, answers: Answers) -> Result<Summary> {
        let mut options = ResumeOptions::from(answers);
        options.restore.accept_changes = true;
        self.resume(run, options).await
    }

    /// Opens the store that keeps a run.
    pub(super) fn stored(&self, run: &str) -> Result<(Arc<dyn CheckpointStore>, RunRow)> {
        let (_, store, row) = Stores::to_read(&self.project(), &self.host().home)?.find(run)?;
        Ok((store, row))
    }

    /// The key that signs the runs of the test's user.
    pub(super) fn key(&self) -> VerifyingKey {
        self.host().home.identity().unwrap().verifying_key()
    }

    /// Checks every signature and digest of a run.
    pub(super) fn verify(&self, run: &str) -> Result<Audit> {
        let (store, row) = self.stored(run)?;
        let last = stop_notes::last(&self.host().home, &*store, &row.run_id)?;
        audit(&*store, &row, &self.key(), last.as_ref())
    }

    /// Verifies a run, and executes it again from its journal.
    pub(super) async fn replay(&self, run: &str) -> Result<Replay> {
        let (store, row) = self.stored(run)?;
        audit(&*store, &row, &self.key(), None)?;
        let mode = (Mode::Journal, &ReplaySources::default());
        Box::pin(replay(store, &row, self.key(), mode, &self.project(), &self.host(), &mut |_| ())).await
    }

    /// Asserts that a replay of a run differs in nothing.
    pub(super) async fn replays_equal(&self, run: &str) -> Replay {
        let replay = self.replay(run).await.unwrap();
        assert!(replay.is_equal() && replay.world.is_empty(), "{replay:?}");
        replay
    }
}

/// The key with which the test's user signs items.
fn user_key() -> SigningKey {
    SigningKey::from_seed(&[5; 32])
}

/// Returns the id of the open question with this payload.
pub(super) fn id_of(summary: &Summary, payload: &str) -> String {
    let asked = summary.interrupts.iter().find(|one| *one.payload.0 == payload);
    asked.unwrap_or_else(|| panic!("{summary:?}")).id.clone()
}

/// Makes answers by id, or by the path of a node.
pub(super) fn answers(answers: &[(&str, Value)]) -> Answers {
    Answers::ById(answers.iter().map(|(id, answer)| ((*id).to_owned(), answer.clone())).collect())
}

/// Asserts that a run waits.
pub(super) fn waits(summary: &Summary) {
    assert_eq!(summary.status, Status::Interrupted, "{summary:?}");
}

/// Asserts that a run has completed.
pub(super) fn completes(summary: &Summary) {
    assert_eq!(summary.status, Status::Completed, "{summary:?}");
}
