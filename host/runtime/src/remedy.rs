//! Remedies of errors: what a user can do, as data. A program words them in its own way; the command line words them
//! with its commands and options.

use std::borrow::Cow;
use std::path::PathBuf;

use graph_core::capability::CapabilityKind;
use graph_core::trust::{KeyBlock, NotAComponent, VerifyError, WantedSignature};

use serde_json::Value;

use crate::sources::Sources;

/// Wording of remedies by a program that shows errors to people.
pub type RemedyWords = fn(&Remedy) -> String;

/// Step by which a user can mend an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A sentence that holds for every program.
    Advice(Cow<'static, str>),

    // Plans and manifests.
    /// Look at what the graph needs of a manifest.
    SuggestManifest(Box<ManifestSuggestion>),
    /// Continue or replay a run under a manifest of one's own.
    GiveManifest {
        /// Id of the run.
        run: String,
        /// Operation that needs the manifest.
        purpose: ManifestPurpose,
    },
    /// Start a new run in place of one that another party may have begun.
    StartAnew {
        /// Id of the run that is not continued.
        run: String,
    },
    /// Look at the params that an item takes.
    InspectItem {
        /// Item id.
        id: String,
    },
    /// Look at the functions of a component.
    ListFunctions,
    /// Look at a component that was named in place of a graph.
    InspectNoGraph {
        /// Path of the component, as the user named it.
        file: String,
    },
    /// Give the inputs that are missing or do not fit.
    GiveInputs,
    /// Name the key that the run signs with.
    NameSigningKey,
    /// Use a component that is signed as the trust store requires.
    UseSignedComponent,
    /// Use graphs that are signed as the trust store requires.
    UseSignedGraphs,

    // Items.
    /// Put a knowledge item or a directive where it is found.
    PlaceText,
    /// Put a component or a graph where it is found.
    PlaceTool,
    /// Name the file of an item that is to be published.
    NameItemFile,
    /// Name the folder of the item that is passed over.
    NameFolderOfOlder {
        /// The folder.
        folder: PathBuf,
    },
    /// Pull an item before its use.
    PullItem {
        /// Reference to the item.
        reference: String,
    },
    /// Pull an item whose signature is missing once more.
    PullUnsignedAgain,
    /// Pull the version that is locked, or lock another one.
    RestoreLocked,
    /// Pull into another folder.
    PullElsewhere,

    // Trust.
    /// Add the key of a signer whom the user knows.
    TrustSigner {
        /// Use of the item without its signature.
        without: WithoutSignature,
    },
    /// Add the key of a host for the transcripts that it signs.
    TrustTranscripts,
    /// Raise the ceiling of the keys that signed a component.
    RaiseCeiling {
        /// Capability that the ceilings leave out.
        kind: CapabilityKind,
        /// The keys.
        keys: Vec<BoundedKey>,
    },
    /// Sign a component once more, with a capability that its signature leaves out.
    SignWithCapability {
        /// The capability.
        kind: CapabilityKind,
    },
    /// Sign a component, or use it unsigned while it is developed.
    SignComponent,
    /// Have a component signed with keys that the trust store requires.
    SignComponentAsRequired {
        /// Whether it has signatures that count, and too few of them.
        in_addition: bool,
    },
    /// Build a component once more, or fetch it once more.
    BuildAgain,
    /// Make a component of a core module.
    MakeComponent,
    /// Encode a component that is in text form.
    EncodeComponent,
    /// Sign a text as its use needs it.
    SignText {
        /// Path of the text, as it is shown.
        file: String,
        /// The signature that it needs.
        wanted: WantedSignature,
    },
    /// Have items signed with the keys that the trust store requires.
    SignAsRequired,
    /// Leave the trust file out, or write that no key is trusted.
    LeaveTrustFileOut,
    /// Change the entry of a key that the trust store has already.
    ChangeTrustedKey,
    /// Revoke a key that a requirement needs, in place of its removal.
    RevokeKey {
        /// Name of the key.
        name: String,
        /// The trust store.
        file: PathBuf,
    },
    /// Add a new key by hand whose rotation is not believed.
    AddNewKey,
    /// Look at the trusted keys.
    ListTrustedKeys,
    /// Write the head of the trust log again.
    RepairTrustLog,
    /// Name the item id of a file that is signed.
    NameItemId,
    /// Replace a key, or choose another name.
    ReplaceKey,
    /// Make a key in place of one that cannot be used.
    MakeKey(KeyBlock),
    /// Look at the keys of the user, or make one.
    ListKeys,

    // Runs.
    /// Look at the runs that there are.
    ListRuns,
    /// Look at the conversation of a run inside another one.
    SeeConversation {
        /// Id of the run inside.
        run: String,
    },
    /// Answer an open question.
    AnswerQuestion,
    /// Name the question of each answer.
    NameQuestions,
    /// Name the question of each answer, by an id that the run lists.
    NameListedQuestions,
    /// Look at the open questions of the run.
    ListQuestions,
    /// Choose one of the open questions.
    ChooseQuestion {
        /// The open questions as a text; `None` if none is open.
        open: Option<String>,
    },
    /// Follow the run in the process that holds it now.
    FollowRun,
    /// Resume a run that nothing has stored yet.
    ResumeRun {
        /// Id of the run.
        run: String,
    },
    /// Look at the result of a run that has ended, or continue it with new inputs.
    SeeResult {
        /// Id of the run.
        run: String,
    },
    /// Accept what has changed since the run started.
    AcceptChanges,
    /// Accept what has changed, and overwrite channels whose values do not fit any more.
    OverwriteChannels {
        /// Id of the run.
        run: String,
        /// The updates, each with the name of its channel.
        updates: Vec<(String, Value)>,
    },
    /// Leave sources out that only runs of other hosts take.
    LeaveSourcesOut {
        /// Id of the run.
        run: String,
    },
    /// Names the sources that only runs of other hosts take; continues a message.
    SourcesOfOtherHosts,
    /// Import a run with the key that signed it.
    ImportWithKey,
    /// Fork a run once more.
    ForkAgain {
        /// Run that was forked.
        origin: String,
    },
    /// Look at the checkpoints of a run.
    ListCheckpoints {
        /// Id of the run.
        run: String,
    },
    /// Read the history before a damaged checkpoint.
    ReadBeforeDamage {
        /// Id of the run.
        run: String,
    },
    /// Restore a store that was changed.
    RestoreStore,
    /// Take over the state of a project, or single runs of it.
    AdoptState,
    /// Get an export of state that reading would change.
    AskForExport,

    // Exports and transcripts.
    /// Give the public key of the host that made the run.
    GiveHostKey,
    /// Check a run with the public key of the host that made it.
    CheckWithHostKey,
    /// Raise the limit of the texts that an import holds in memory.
    RaiseTextLimit {
        /// Limit to try, in MiB.
        mebibytes: u64,
    },
    /// Export the run, which makes such a file.
    ExportRun,
    /// Verify the run.
    VerifyRun,
    /// Verify how far each run of a damaged store is intact.
    VerifyExtent,
    /// Name a file for the transcript, or write it without a signature.
    NameTranscriptFile,
    /// Write the transcript again, with its signature.
    SignTranscript,
    /// Write the transcript to a file in place of a knowledge item.
    WriteTranscriptFile,

    // Registries.
    /// Look at what is in a place, after a version was not found.
    SearchPlace {
        /// What has to be added to the reference instead, if anything.
        instead: Option<Cow<'static, str>>,
        /// Reference to the place.
        place: String,
    },
    /// Look at the artifacts that are there.
    SearchListing {
        /// Reference to the place.
        place: String,
    },
    /// Allow another host to receive the credentials of a registry.
    AllowTokenRealm {
        /// The realm.
        realm: String,
    },
    /// Give a transfer more time.
    GiveMoreTime,
    /// Look at a credential helper that did not end.
    RunHelper,
    /// Name a registry oneself before files may name it.
    AllowRegistry {
        /// Host and repository.
        place: String,
    },
    /// Publish another version, or move the tag.
    MoveTag,
    /// Have an artifact signed that is not.
    HavePublishedSigned,
    /// Sign the file of a component and publish it once more.
    SignAndPublish,
    /// Accept that the artifact of a tag has changed.
    AcceptMoved {
        /// The reference.
        reference: String,
    },
    /// Accept an older version than the locked one.
    AllowDowngrade,
    /// Accept another signer than that of the locked artifact.
    AcceptOtherKey,
    /// Choose another range, or take a yanked version.
    ChooseRange {
        /// Reference to the yanked version.
        reference: String,
    },
    /// Choose a version that is not yanked, or take this one.
    ChooseVersion {
        /// The versions to choose from.
        newer: NewerVersion,
        /// Reference to pull the yanked version by, if the command itself cannot take it.
        pull: Option<String>,
    },
    /// Add the key that signs a yank to the trust store.
    TrustYankKey,
    /// State the version of an item that is published.
    StateVersion,
    /// Publish a graph without its companions.
    PublishAlone,
    /// Sign a file before it is published.
    SignFile {
        /// The file.
        file: PathBuf,
        /// Whether it is a component, whose version the signature states.
        is_component: bool,
    },
    /// Name an item to publish.
    NamePublished,
    /// Name the registry or directory to publish to.
    NameTarget,

    // Bundles.
    /// Make the bundle once more.
    MakeBundleAgain,
    /// Give components of a case grants.
    GrantInCases,
    /// Give an item of a case a double, or find it.
    FindOrDouble,
    /// Give an item of a case a double, or trust its signer.
    TrustOrDouble,
    /// Leave files out of a bundle, or make its components smaller.
    OptimizeComponents,
    /// Leave files out of a bundle, or grant a smaller folder.
    GrantSmallerFolder,
    /// Grant a narrower scope of knowledge, or leave files out of a bundle.
    GrantNarrowerScope,
    /// Run the graph with this program in place of a page.
    RunNatively,
    /// Run the named graph with this program in place of a page.
    RunGraphNatively {
        /// Whether the run signs items.
        signs: bool,
    },

    // Telemetry.
    /// Name the collector of telemetry.
    NameCollector,
    /// Check the settings of telemetry.
    CheckTelemetry,
}

/// Data of a suggested manifest: the graph, and the sources that its items and keys are taken from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestSuggestion {
    /// The graph.
    pub graph: SuggestedGraph,
    /// Sources of items and trusted keys.
    pub sources: Sources,
}

/// Name of a graph in a suggestion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SuggestedGraph {
    /// A graph that is not known by name here.
    #[default]
    Unknown,
    /// A graph that a program has built: it is to be written into a file first.
    Unwritten,
    /// Name or path, as the user wrote it, or a built-in id.
    Named(String),
    /// Its file.
    File(PathBuf),
}

/// Purpose that a manifest is given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestPurpose {
    /// A replay that the journal answers.
    Replay,
    /// A replay in which the world answers calls that only read.
    Ask,
    /// A replay in which the world answers all calls again.
    Send,
    /// A resume of the run.
    Resume,
}

/// Versions to choose from in place of a yanked one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewerVersion {
    /// A range of newer versions.
    Range(String),
    /// All versions in a place.
    Place(String),
}

/// Use of an item without its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutSignature {
    /// The graph runs as unsigned.
    GraphRuns,
    /// The knowledge or directive is used as unsigned.
    TextIsUsed,
    /// An item that is pulled is refused.
    Refused,
}

/// A trusted key whose ceiling leaves a capability out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedKey {
    /// Name in the trust store.
    pub name: String,
    /// Its trust file, if it is not in the user's trust store.
    pub file: Option<String>,
}

impl Remedy {
    /// Returns the remedy for a component that was not admitted.
    pub(crate) fn of_component(error: &VerifyError) -> Self {
        match error {
            VerifyError::NotAComponent { reason: NotAComponent::CoreModule, .. } => Self::MakeComponent,
            VerifyError::NotAComponent { reason: NotAComponent::TextForm, .. } => Self::EncodeComponent,
            VerifyError::NotAComponent { .. } => Self::BuildAgain,
            VerifyError::Unsigned { .. } => Self::SignComponent,
            VerifyError::UnknownKey { .. } => Self::TrustSigner { without: WithoutSignature::Refused },
            VerifyError::Required { .. } => Self::SignComponentAsRequired { in_addition: false },
            VerifyError::TooFew { .. } => Self::SignComponentAsRequired { in_addition: true },
            _ => error.advice().into(),
        }
    }

    /// Returns the sentence that holds for every program, if this is one.
    pub fn advice(&self) -> Option<&str> {
        match self {
            Self::Advice(text) => Some(text),
            _ => None,
        }
    }
}

impl From<&'static str> for Remedy {
    fn from(text: &'static str) -> Self {
        Self::Advice(Cow::Borrowed(text))
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Self::Advice(Cow::Owned(text))
    }
}
