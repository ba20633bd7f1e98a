//! Words remedies with the commands and options of the command line.

use std::fmt::Write as _;

use crate::terminal::paths::shown;
use graph_core::diagnostic::{shell_path, shell_quoted};
use graph_core::trust::{KeyBlock, TextKind, WantedSignature};
use graph_runtime::error::Error;
use graph_runtime::remedy::{
    ManifestPurpose, ManifestSuggestion, NewerVersion, Remedy, SuggestedGraph, WithoutSignature,
};
use serde_json::Value;

/// Returns the command that suggests a manifest.
pub fn suggest_command(suggestion: &ManifestSuggestion) -> String {
    let ManifestSuggestion { graph, sources } = suggestion;
    let graph = match graph {
        SuggestedGraph::Unknown => "GRAPH".to_owned(),
        SuggestedGraph::Unwritten => "GRAPH.yaml".to_owned(),
        SuggestedGraph::Named(name) => shell_path(name),
        SuggestedGraph::File(path) => shell_path(&shown(path)),
    };
    let mut command = format!("graph-host caps suggest {graph}");
    let named = [("--trust", &sources.trust[..]), ("--items", &sources.items[..])];
    for (option, paths) in named.into_iter().chain([("--project", sources.project.as_slice())]) {
        for path in paths {
            let _ = write!(command, " {option} {}", shell_path(&path.to_string_lossy()));
        }
    }
    if sources.allow_unsigned {
        command.push_str(" --allow-unsigned");
    }
    command
}

/// Returns the command that signs a file, with these options. It has a placeholder for an id that follows neither from the
/// options nor from the path.
pub fn sign_command(file: &str, options: &str) -> String {
    let says_id = options.contains(" --id ") || file.split(['/', '\\']).any(|part| part == ".ai");
    let id = if says_id { "" } else { " --id ID" };
    format!("graph-host sign {}{options}{id} --key KEY", shell_path(file))
}

/// Returns the command that carries a remedy out, if `--json` names it apart from the help.
pub fn command(remedy: &Remedy) -> Option<String> {
    match remedy {
        Remedy::GiveManifest { run, purpose } => {
            let run = shell_quoted(run);
            Some(match purpose {
                ManifestPurpose::Replay => format!("graph-host replay {run} --caps FILE"),
                ManifestPurpose::Ask => format!("graph-host replay {run} --live --caps FILE"),
                ManifestPurpose::Send => format!("graph-host replay {run} --live --send --caps FILE"),
                ManifestPurpose::Resume => format!("graph-host resume {run} --caps FILE"),
            })
        }
        Remedy::StartAnew { .. } => Some("graph-host run GRAPH --caps FILE".to_owned()),
        _ => None,
    }
}

/// Words the remedy of an error.
pub fn of_error(error: &Error) -> Option<String> {
    error.remedy().map(words)
}

/// Replaces the help of an error by a text. The command that `--json` names apart from it stays.
pub fn reworded(error: Error, help: String) -> Error {
    let command = error.remedy().and_then(command);
    let error = match (command, error.more(words)) {
        (Some(command), Some(mut details)) => {
            details["command"] = command.into();
            error.details(details)
        }
        _ => error,
    };
    error.help(help)
}

/// Words the message of an error, with the remedies in it.
pub fn message(error: &Error) -> String {
    error.worded(words)
}

/// Words a remedy as help of the command line.
#[allow(clippy::too_many_lines, reason = "one table, which the compiler checks for completeness")]
pub fn words(remedy: &Remedy) -> String {
    let text: &str = match remedy {
        Remedy::Advice(text) => text,
        Remedy::ListFunctions => "`graph-host inspect` lists the functions of a component",
        Remedy::GiveInputs => {
            "give inputs with --input KEY=VALUE or --inputs FILE; `config_schema` says of which type a value is"
        }
        Remedy::NameSigningKey => "name one of your keys, or its file: --sign-with KEY",
        Remedy::UseSignedComponent => {
            "use a signed component; `graph-host trust list` shows what is required"
        }
        Remedy::UseSignedGraphs => "use signed graphs; `graph-host trust list` shows what is required",
        Remedy::PlaceText => "put it into the project's .ai folder, or name its folder with --items DIR",
        Remedy::PlaceTool => "name its folder with --items DIR, or put it into the project's .ai/tools",
        Remedy::NameItemFile => "name its file, or its folder with --items DIR",
        Remedy::PullUnsignedAgain => {
            "pull it again; `--allow-unsigned` is for what you develop yourself, never for what was pulled"
        }
        Remedy::RestoreLocked => {
            "`graph-host pull` restores what is locked; `graph-host lock REF` locks another one"
        }
        Remedy::PullElsewhere => "move it away, or pull into another folder with --into DIR",
        Remedy::TrustSigner { without: WithoutSignature::GraphRuns } => {
            "if you know the signer, add the key with `graph-host trust add NAME --key FILE --items PATTERN`, or name a trust file with --trust; without its signature line the graph runs as unsigned"
        }
        Remedy::TrustSigner { without: WithoutSignature::TextIsUsed } => {
            "if you know the signer, add the key with `graph-host trust add NAME --key FILE --items PATTERN`, or name a trust file with --trust; without its signature line it is used as unsigned"
        }
        Remedy::TrustSigner { without: WithoutSignature::Refused } => {
            "if you know the signer, add the public key with `graph-host trust add NAME --key FILE --items PATTERN`, or name a trust file with `--trust`"
        }
        Remedy::TrustTranscripts => {
            "get the public key of the host from its owner, and trust it for transcripts: graph-host trust add NAME --key FILE --items 'transcripts/*'"
        }
        Remedy::SignComponent => {
            "sign it with `graph-host sign FILE --key KEY`; while developing it yourself, run with `--allow-unsigned`"
        }
        Remedy::SignComponentAsRequired { in_addition: false } => {
            "have one of these keys sign it with `graph-host sign FILE --key KEY`; `graph-host trust list` shows what is required"
        }
        Remedy::SignComponentAsRequired { in_addition: true } => {
            "have more of the keys sign it with `graph-host sign FILE --key KEY --add`; `graph-host trust list` shows what is required"
        }
        Remedy::BuildAgain => "build it again with `graph-host build`, or fetch it again",
        Remedy::MakeComponent => {
            "make a component of it with `graph-host build` or `wasm-tools component new`"
        }
        Remedy::EncodeComponent => "encode it with `wasm-tools parse`",
        Remedy::SignText { file, wanted } => {
            let with_kind = |kind: &TextKind| sign_command(file, &format!(" --kind {}", kind.as_str()));
            return match wanted {
                WantedSignature::OfRequiredKey => format!(
                    "{wanted}: {}; `graph-host trust list` shows what is required",
                    sign_command(file, "")
                ),
                WantedSignature::AsOtherKind(used) | WantedSignature::WithKind(used) => {
                    format!("{wanted}: {}", with_kind(used))
                }
            };
        }
        Remedy::MakeKey(block) => match block {
            KeyBlock::Encrypted => "decrypt it: openssl pkey -in KEY -out PLAIN",
            KeyBlock::PublicHalf => "name the file of the private key",
            KeyBlock::PrivateHalf => "write the public one with `openssl pkey -pubout -in KEY`",
            KeyBlock::Ssh => "make one with `graph-host keys generate NAME`",
            KeyBlock::Other => {
                "make one with `graph-host keys generate NAME` or `openssl genpkey -algorithm ed25519`"
            }
            KeyBlock::NotPublic => "make one with `graph-host keys generate NAME` or `openssl pkey -pubout`",
        },
        Remedy::SignAsRequired => {
            "have them signed with one of these keys (graph-host sign FILE --key KEY); `graph-host trust list` shows what is required"
        }
        Remedy::LeaveTrustFileOut => "leave --trust out, or write `keys: []` where no key is to be trusted",
        Remedy::ChangeTrustedKey => {
            "`graph-host trust set NAME` changes what it may sign, how far and how long; `graph-host trust list` shows it"
        }
        Remedy::AddNewKey => {
            "get the new public key from its owner in another way, and add it with `graph-host trust add NAME --key FILE --items PATTERN`"
        }
        Remedy::ListTrustedKeys => "`graph-host trust list` shows the keys and their ids",
        Remedy::RepairTrustLog => {
            "`graph-host trust repair` writes the head again where a process was killed during its first write"
        }
        Remedy::NameItemId => {
            "name it with `--id`, for example `--id acme/fetch`; below `.ai/tools` it follows from the path"
        }
        Remedy::ReplaceKey => {
            "choose another name; `--force` replaces the key, and the old one is gone for good"
        }
        Remedy::ListKeys => {
            "`graph-host keys list` shows your keys; `graph-host keys generate NAME` makes one"
        }
        Remedy::AnswerQuestion => {
            "answer with --answer ANSWER, or --answer ID=ANSWER where several questions are open"
        }
        Remedy::NameQuestions => "write each answer as --answer ID=ANSWER",
        Remedy::NameListedQuestions => {
            "write each as --answer ID=ANSWER; the ids are those that the run lists"
        }
        Remedy::ListRuns => "`graph-host runs list` shows them",
        Remedy::ListQuestions => "`graph-host runs show RUN` lists the open questions with their ids",
        Remedy::FollowRun => {
            "what this process had not stored is dropped, and the other process continues the run: `graph-host runs show RUN` \
             shows which one it is, and `graph-host runs watch RUN` follows it"
        }
        Remedy::AcceptChanges => "restore what has changed, or resume with the changes: --accept-changes",
        Remedy::SourcesOfOtherHosts => "--trust, --items and --allow-unsigned are for runs of other hosts",
        Remedy::ImportWithKey => {
            "only the host that started a run can resume it, or one that has its key, which is identity.pem in its user's space \
             or what a page has exported: graph-host runs import FILE --identity KEY"
        }
        Remedy::RestoreStore => {
            "the store was changed from outside: put it back from a backup; `graph-host runs history` shows what can be read"
        }
        Remedy::AdoptState => {
            "it can be shown and verified; to resume here after you have moved or copied the project yourself, or with \
             state from before markers: graph-host runs adopt. Of a stranger's project, take single runs over with \
             `graph-host runs export` and, in a project of your own, `graph-host runs import`"
        }
        Remedy::AskForExport => {
            "it is not this host's, so reading it must not change it: ask its owner for an export \
             (graph-host runs export), or, of a project that you have moved or copied yourself, take it over \
             with graph-host runs adopt"
        }
        Remedy::GiveHostKey => "give the public key of that host with --key",
        Remedy::CheckWithHostKey => {
            "another host made this run: check it with --key and the public key of that host"
        }
        Remedy::ExportRun => "such a file is made by `graph-host runs export`",
        Remedy::VerifyRun => {
            "a later version of graph-host may have written it; `graph-host runs verify` checks its signature"
        }
        Remedy::VerifyExtent => "`graph-host runs verify` says how far each run is intact",
        Remedy::NameTranscriptFile => "name a file, or print the lines without a signature with --jsonl",
        Remedy::SignTranscript => {
            "`graph-host runs transcript RUN --out FILE` writes a transcript with its signature"
        }
        Remedy::WriteTranscriptFile => {
            "write it to a file instead: graph-host runs transcript RUN --out FILE"
        }
        Remedy::GiveMoreTime => "nothing was written; --timeout SPAN gives it more time",
        Remedy::RunHelper => {
            "run the helper by hand to see what it waits for; --timeout SPAN gives it more time"
        }
        Remedy::MoveTag => {
            "publish it as another version; --force moves the tag, and users who have locked it are warned that it has moved"
        }
        Remedy::HavePublishedSigned => {
            "have its author sign it and publish it again; `--allow-unsigned` is for what you develop yourself"
        }
        Remedy::SignAndPublish => {
            "sign its file and publish it again: graph-host sign FILE --key KEY, then graph-host publish FILE REF"
        }
        Remedy::AllowDowngrade => "--allow-downgrade takes the older version, if you mean it",
        Remedy::AcceptOtherKey => "ask its publisher why; `graph-host lock REF` takes the other key over",
        Remedy::TrustYankKey => {
            "add it with `graph-host trust add NAME --key FILE --items PATTERN`, or name a trust file with `--trust`; users need it there, too"
        }
        Remedy::StateVersion => {
            "give it a `version` like 1.2.3 and sign it again, or say it: --version 1.2.3"
        }
        Remedy::PublishAlone => {
            "rename or shorten that file, or publish the graph without what it takes along: --bare"
        }
        Remedy::NamePublished => "graph-host publish ITEM REF",
        Remedy::NameTarget => {
            "end with `oci://host/repository:tag`, or with `oci-layout:DIR` for a directory: graph-host publish ITEM REF"
        }
        Remedy::MakeBundleAgain => {
            "make the bundle again, and serve what `graph-host bundle` wrote without changes"
        }
        Remedy::GrantInCases => {
            "grants for components come from a manifest: graph-host test PATH --caps FILE"
        }
        Remedy::FindOrDouble => "give it a double under `items`, or name its folder with --items DIR",
        Remedy::TrustOrDouble => "give it a double under `items`, or trust who signed it with --trust FILE",
        Remedy::OptimizeComponents => "leave --files out, or have large components built with optimization",
        Remedy::GrantSmallerFolder => {
            "leave --files out: the page then asks for the folder; or grant a smaller one"
        }
        Remedy::GrantNarrowerScope => "grant a narrower scope, or leave --files out",
        Remedy::RunNatively => "run the graph natively: graph-host run",
        Remedy::RunGraphNatively { signs: false } => "run the graph natively: graph-host run GRAPH",
        Remedy::RunGraphNatively { signs: true } => {
            "run the graph natively: graph-host run GRAPH --sign-with KEY"
        }
        Remedy::NameCollector => "name the collector as --otlp http://localhost:4318",
        Remedy::CheckTelemetry => "check --otlp and the OTEL_* variables, or leave them out",
        Remedy::SuggestManifest(suggestion) => {
            return format!("see what the graph needs: {}", suggest_command(suggestion));
        }
        Remedy::GiveManifest { .. } => {
            return format!(
                "say with a manifest of your own what it may reach here: {}",
                command(remedy).unwrap_or_default()
            );
        }
        Remedy::StartAnew { run } => {
            return format!(
                "nothing of it has been run: start a new run with a manifest of your own, graph-host run GRAPH --caps FILE; to see \
             what is there: graph-host runs show {}",
                shell_quoted(run)
            );
        }
        Remedy::InspectItem { id } => return format!("see what it takes: graph-host inspect {id}"),
        Remedy::InspectNoGraph { file } => {
            return format!(
                "a graph is a YAML file whose nodes name components; `graph-host inspect {}` shows what this one is",
                shell_quoted(file)
            );
        }
        Remedy::NameFolderOfOlder { folder } => {
            return format!(
                "take the older one out of the project; to use it all the same, name its folder: --items {}",
                shown(folder)
            );
        }
        Remedy::PullItem { reference } => {
            return format!("fetch it first: graph-host pull {}", shell_quoted(reference));
        }
        Remedy::RaiseCeiling { kind, keys } => {
            let commands: Vec<_> = keys
                .iter()
                .map(|key| {
                    let file = key.file.as_deref();
                    let option = file.map(|file| format!(" --file {}", shell_quoted(file)));
                    let option = option.unwrap_or_default();
                    format!("graph-host trust set {} --also-may {kind}{option}", shell_quoted(&key.name))
                })
                .collect();
            return format!("if what it signs may have `{kind}`: {}", commands.join("; "));
        }
        Remedy::SignWithCapability { kind } => {
            return format!("its signature itself leaves `{kind}` out: sign it again with --may {kind}");
        }
        Remedy::SeeConversation { run } => {
            return format!("`graph-host runs transcript {run}` shows its conversation");
        }
        Remedy::RevokeKey { name, file } => {
            return format!(
                "revoke it, which keeps the entry: graph-host trust revoke {}; or edit {} first",
                shell_quoted(name),
                file.display()
            );
        }
        Remedy::ChooseQuestion { open } => {
            let list = "`graph-host runs show RUN` lists the questions with their ids";
            match open {
                None => return format!("no question is open; {list}"),
                Some(open) => return format!("open are: {open}; {list}"),
            }
        }
        Remedy::ResumeRun { run } => return format!("start it: graph-host resume {run}"),
        Remedy::OverwriteChannels { run, updates } => {
            let option = |(channel, value): &(String, Value)| {
                format!(" --update {}", shell_quoted(&format!("{channel}={value}")))
            };
            let updates: String = updates.iter().map(option).collect();
            let run = shell_quoted(run);
            return format!("settle it in the same call: graph-host resume {run} --accept-changes{updates}");
        }
        Remedy::SeeResult { run } => {
            return format!(
                "see its result: graph-host runs show {run}; start another turn with new inputs: graph-host resume {run} --input \
             KEY=VALUE"
            );
        }
        Remedy::LeaveSourcesOut { run } => {
            return format!(
                "leave them out, or start a new run with them: graph-host run GRAPH; see graph-host runs show {}",
                shell_quoted(run)
            );
        }
        Remedy::ForkAgain { origin } => {
            return format!("fork it again: graph-host runs fork {origin} --at CHECKPOINT");
        }
        Remedy::ListCheckpoints { run } => return format!("see them all: graph-host runs history {run}"),
        Remedy::ReadBeforeDamage { run } => {
            return format!(
                "what is before that checkpoint can still be read: graph-host runs history {run}"
            );
        }
        Remedy::RaiseTextLimit { mebibytes } => {
            return format!(
                "they are held in memory: if there is enough of it, raise the limit with --texts, such as --texts {mebibytes}MiB"
            );
        }
        Remedy::SearchPlace { instead, place } => {
            let list = format!("see what there is: graph-host search {}", shell_quoted(place));
            return instead.as_ref().map(|instead| format!("{instead}; {list}")).unwrap_or(list);
        }
        Remedy::SearchListing { place } => {
            return format!("see what is there: graph-host search {}", shell_quoted(place));
        }
        Remedy::AllowTokenRealm { realm } => {
            return format!(
                "if you trust that host with your credentials for this registry, add `--token-realm {realm}`, or set \
             GRAPH_HOST_REGISTRY_TOKEN_REALM to {realm}"
            );
        }
        Remedy::AllowRegistry { place } => {
            return format!(
                "if it is yours, name it once: `graph-host search oci://{place}`; from then on, files may name it, too"
            );
        }
        Remedy::AcceptMoved { reference } => {
            return format!(
                "ask its publisher why; if it is meant to be, `graph-host lock --accept-moved {}` takes it over",
                shell_quoted(reference)
            );
        }
        Remedy::ChooseRange { reference } => {
            return format!(
                "choose another range; to take that version nevertheless, name it and add `--allow-yanked`: {}",
                shell_quoted(reference)
            );
        }
        Remedy::ChooseVersion { newer, pull } => {
            let newer = match newer {
                NewerVersion::Range(range) => format!(
                    "`graph-host pull {}` selects a newer version, if there is one",
                    shell_quoted(range)
                ),
                NewerVersion::Place(place) => format!(
                    "choose another version; see what there is: graph-host search {}",
                    shell_quoted(place)
                ),
            };
            match pull {
                None => return format!("{newer}; `--allow-yanked` takes this one nevertheless"),
                Some(reference) => {
                    return format!(
                        "{newer}; `graph-host pull {} --allow-yanked` takes this one nevertheless, to be used by its id",
                        shell_quoted(reference)
                    );
                }
            }
        }
        Remedy::SignFile { file, is_component } => {
            // A text states its version itself.
            let options = if *is_component { " --version VERSION" } else { "" };
            return format!("sign it: {}", sign_command(&shown(file), options));
        }
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use graph_core::capability::CapabilityKind;
    use graph_runtime::remedy::BoundedKey;

    use super::*;

    #[test]
    fn names_are_quoted_for_a_shell() {
        let name = "$(id)".to_owned();
        let (range, run) = (NewerVersion::Range(name.clone()), name.clone());
        let place = NewerVersion::Place(name.clone());
        let keys = vec![BoundedKey { name: name.clone(), file: Some(name.clone()) }];
        for remedy in [
            Remedy::GiveManifest { run: run.clone(), purpose: ManifestPurpose::Send },
            Remedy::StartAnew { run: run.clone() },
            Remedy::LeaveSourcesOut { run },
            Remedy::InspectNoGraph { file: name.clone() },
            Remedy::PullItem { reference: name.clone() },
            Remedy::SearchPlace { instead: None, place: name.clone() },
            Remedy::SearchListing { place: name.clone() },
            Remedy::AcceptMoved { reference: name.clone() },
            Remedy::ChooseRange { reference: name.clone() },
            Remedy::ChooseVersion { newer: range, pull: Some(name.clone()) },
            Remedy::ChooseVersion { newer: place, pull: None },
            Remedy::RevokeKey { name: name.clone(), file: PathBuf::from("trust.yaml") },
            Remedy::RaiseCeiling { kind: CapabilityKind::Tools, keys },
            Remedy::SignFile { file: PathBuf::from(&name), is_component: true },
            Remedy::SuggestManifest(Box::new(ManifestSuggestion {
                graph: SuggestedGraph::Named(name.clone()),
                ..ManifestSuggestion::default()
            })),
        ] {
            let text = words(&remedy);
            assert!(text.contains("'$(id)'"), "{text}");
            assert_eq!(text.matches("$(id)").count(), text.matches("'$(id)'").count(), "{text}");
        }
    }

    #[test]
    fn the_command_that_signs_a_text_has_its_kind_and_a_placeholder_for_its_id() {
        let told = |file: &str, wanted| words(&Remedy::SignText { file: file.to_owned(), wanted });
        let kind = TextKind::Graph;
        assert!(
            told("f.yaml", WantedSignature::WithKind(kind))
                .ends_with("by its owner: graph-host sign f.yaml --kind graph --id ID --key KEY")
        );
        assert!(
            told(".ai/tools/f.yaml", WantedSignature::AsOtherKind(kind))
                .ends_with("sign it as that: graph-host sign .ai/tools/f.yaml --kind graph --key KEY")
        );
        let told = told("f.yaml", WantedSignature::OfRequiredKey);
        assert!(told.contains("these keys: graph-host sign f.yaml --id ID --key KEY;"), "{told}");
    }

    #[test]
    fn a_suggestion_repeats_the_sources() {
        let sources = graph_runtime::Sources {
            trust: vec!["a b".into()],
            items: vec!["c".into()],
            project: Some("p".into()),
            allow_unsigned: true,
        };
        let graph = SuggestedGraph::Named("g.yaml".to_owned());
        let text = suggest_command(&ManifestSuggestion { graph, sources });
        assert_eq!(
            text,
            "graph-host caps suggest g.yaml --trust 'a b' --items c --project p --allow-unsigned"
        );
        assert_eq!(suggest_command(&ManifestSuggestion::default()), "graph-host caps suggest GRAPH");
    }
}
