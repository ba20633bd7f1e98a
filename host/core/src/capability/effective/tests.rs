#![allow(clippy::unwrap_used)]
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::limits::ModelUse;

const FILES: [&str; 5] = [
    "wasi:filesystem/types@0.2.6",
    "wasi:filesystem/preopens@0.2.6",
    "wasi:io/streams@0.2.6",
    "wasi:io/error@0.2.6",
    "wasi:clocks/wall-clock@0.2.6",
];

fn names(names: &[&str]) -> Vec<InterfaceName> {
    names.iter().map(|name| InterfaceName::parse(name).unwrap()).collect()
}

fn manifest(text: &str) -> Manifest {
    Manifest::parse(text, "caps.yaml", "/home/u").unwrap().0
}

fn all() -> Ceiling {
    Ceiling::from_kinds(CapabilityKind::ALL)
}

fn request<'a>(
    declared: &'a [InterfaceName],
    ceiling: &'a Ceiling,
    manifest: &'a Manifest,
) -> GrantRequest<'a> {
    GrantRequest {
        item_id: "examples/list@1.0.0",
        declared,
        ceiling,
        signer: Some("acme"),
        manifest,
        parent: None,
        node: None,
        node_limits: NodeLimits::default(),
    }
}

fn reasons(request: &GrantRequest<'_>) -> Vec<String> {
    effective_grant(request).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn a_grant_is_what_all_agree_on() {
    let declared = names(&FILES);
    let manifest = manifest(
        "items: { \"examples/*\": { filesystem: [{ path: src, as: /src }], clocks: true, random: true, limits: { fuel: 50 } } }",
    );
    let ceiling = Ceiling { limits: Some(TaskLimits { memory: 77, ..TaskLimits::DEFAULT }), ..all() };
    let mut request = request(&declared, &ceiling, &manifest);
    request.node_limits =
        NodeLimits { fuel: Some(90), timeout: Some(Duration::from_secs(1)), ..NodeLimits::default() };
    let grant = effective_grant(&request).unwrap();
    assert_eq!(
        grant,
        EffectiveGrant {
            http: Vec::new(),
            secrets: Vec::new(),
            knowledge: Vec::new(),
            models: Vec::new(),
            kinds: BTreeSet::from([CapabilityKind::Log, CapabilityKind::Filesystem, CapabilityKind::Clocks]),
            filesystem: vec![Mount {
                host: "/home/u/src".into(),
                guest: "/src".into(),
                access: Access::ReadOnly
            }],
            limits: TaskLimits {
                fuel: 50,
                memory: 77,
                timeout: Duration::from_secs(1),
                ..TaskLimits::DEFAULT
            },
        },
        "random is not declared"
    );
}

#[test]
fn types_come_along_without_their_functions() {
    let declared = names(&FILES);
    let ceiling = Ceiling::from_kinds([CapabilityKind::Filesystem]);
    let manifest = manifest("items: { \"examples/list\": { filesystem: [{ path: ., as: /src }] } }");
    let grant = effective_grant(&request(&declared, &ceiling, &manifest)).unwrap();
    assert_eq!(grant.kinds, BTreeSet::from([CapabilityKind::Log, CapabilityKind::Filesystem]));

    let declared = names(&["wasi:clocks/wall-clock@0.2.6"]);
    assert_eq!(
        reasons(&request(&declared, &ceiling, &manifest)),
        [
            "`examples/list@1.0.0` needs `wasi:clocks/wall-clock@0.2.6`, but its signature by the key `acme` does not reach as far as `clocks`"
        ]
    );
}

#[test]
fn log_and_types_need_no_manifest() {
    let declared =
        names(&["graph-host:host/log@0.1.0", "graph-host:host/events@0.1.3", "graph-host:node/types@0.1.0"]);
    let none = Manifest::deny_all();
    let grant = effective_grant(&request(&declared, &Ceiling::from_kinds([]), &none)).unwrap();
    assert_eq!(grant, EffectiveGrant::nothing(TaskLimits::DEFAULT));
}

#[test]
fn refusals_say_why_and_what_would_grant() {
    let declared = names(&[
        "wasi:filesystem/types@0.2.6",
        "wasi:io/streams@0.2.6",
        "wasi:random/random@0.2.6",
        "wasi:sockets/tcp@0.2.0",
        "wasi:clocks/monotonic-clock@0.3.0",
    ]);
    let (none, all) = (Manifest::deny_all(), all());
    let refusals = effective_grant(&request(&declared, &all, &none)).unwrap_err();
    let shown: Vec<_> = refusals
        .iter()
        .map(|refusal| format!("{refusal}\n{}", refusal.manifest_lines.clone().unwrap_or_default()))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));

    // The suggested lines are a manifest that grants the interface.
    let lines = refusals[0].manifest_lines.clone().unwrap();
    let granted = manifest(&lines);
    assert!(effective_grant(&request(&declared[..2], &all, &granted)).is_ok());
    let lines = refusals[1].manifest_lines.clone().unwrap();
    let granted = manifest(&lines);
    assert!(effective_grant(&request(&declared[2..3], &all, &granted)).is_ok());

    let narrow = manifest("items: { \"*\": { random: true }, \"examples/*\": { clocks: true } }");
    let refusals = effective_grant(&request(&declared[2..3], &all, &narrow)).unwrap_err();
    assert_eq!(
        refusals[0].to_string(),
        "`examples/list@1.0.0` needs `wasi:random/random@0.2.6`, but the manifest's entry `examples/*`, which applies, \
         does not grant `random`"
    );
    assert_eq!(refusals[0].manifest_lines.as_deref(), Some("items:\n  \"examples/*\":\n    random: true\n"));
    let base = names(&["wasi:io/poll@0.2.0", "wasi:cli/stdout@0.2.0", "wasi:cli/environment@0.2.9"]);
    assert!(effective_grant(&request(&base, &all, &manifest("items: {}"))).is_ok());
    assert_eq!(
        reasons(&request(&names(&["wasi:cli/run@0.2.0"]), &all, &narrow)),
        ["`examples/list@1.0.0` needs `wasi:cli/run@0.2.0`, which no capability of this version covers"]
    );
}

#[test]
fn parents_and_nodes_narrow() {
    let all = all();
    let declared = names(&["wasi:filesystem/types@0.2.6", "wasi:random/random@0.2.6"]);
    let manifest = manifest(
        "items: { \"*\": { random: true, filesystem: [{ path: a/b, as: /b, access: rw }, { path: c, as: /c, access: rw }] } }",
    );
    let mut parent = EffectiveGrant {
        http: Vec::new(),
        secrets: Vec::new(),
        knowledge: Vec::new(),
        models: Vec::new(),
        kinds: BTreeSet::from(CapabilityKind::ALL),
        filesystem: vec![Mount { host: "/home/u/a".into(), guest: "/x".into(), access: Access::ReadOnly }],
        limits: TaskLimits { fuel: 3, ..TaskLimits::DEFAULT },
    };
    let grant =
        effective_grant(&GrantRequest { parent: Some(&parent), ..request(&declared, &all, &manifest) })
            .unwrap();
    assert_eq!(
        grant.filesystem,
        [Mount { host: "/home/u/a/b".into(), guest: "/b".into(), access: Access::ReadOnly }]
    );
    assert_eq!(grant.limits.fuel, 3);

    parent.filesystem[0].host = "/home/u/ab".into();
    parent.kinds.remove(&CapabilityKind::Random);
    assert_eq!(
        reasons(&GrantRequest { parent: Some(&parent), ..request(&declared, &all, &manifest) }),
        [
            "`examples/list@1.0.0` needs `wasi:filesystem/types@0.2.6`, but the run that started this one is not granted `filesystem`",
            "`examples/list@1.0.0` needs `wasi:random/random@0.2.6`, but the run that started this one is not granted `random`",
        ]
    );
    let node = NodeCapabilities { dispatch: None, interfaces: Some(vec!["filesystem".into()]) };
    assert_eq!(
        reasons(&GrantRequest { node: Some(&node), ..request(&declared, &all, &manifest) }),
        [
            "`examples/list@1.0.0` needs `wasi:random/random@0.2.6`, but the node's own `capabilities` leave out `random`"
        ]
    );
}

#[test]
fn language_models_only_become_fewer() {
    let declared = names(&["graph-host:host/model@0.1.0"]);
    let manifest = manifest(
        "models:
  fast: { api: openai-chat, url: \"https://api.acme.com/v1\", model: small }
  slow: { api: anthropic, url: \"https://api.acme.com/v1\", model: large }
items:
  \"examples/*\": { model: [slow, fast], limits: { model: { calls: 7, output_tokens: 900 } } }
",
    );
    let granted = |request: &GrantRequest<'_>| {
        let grant = effective_grant(request).unwrap();
        let names: Vec<_> = grant.models.iter().map(|model| model.name.clone()).collect();
        (names, grant.limits.model)
    };
    let all = all();
    let request = request(&declared, &all, &manifest);
    let most = ModelUse { calls: 7, output: 900, ..ModelUse::OF_TASK };
    assert_eq!(granted(&request), (vec!["slow".to_owned(), "fast".to_owned()], most));

    // The signature allows less.
    let limits = TaskLimits { model: ModelUse { calls: 3, ..ModelUse::UNBOUNDED }, ..TaskLimits::UNBOUNDED };
    let signed = Ceiling { limits: Some(limits), ..all.clone() };
    assert_eq!(granted(&GrantRequest { ceiling: &signed, ..request }).1, ModelUse { calls: 3, ..most });
    let unsigned = Ceiling::from_kinds([CapabilityKind::Http]);
    let says = |request| reasons(&request).join("");
    assert!(
        says(GrantRequest { ceiling: &unsigned, ..request }).ends_with("does not reach as far as `model`")
    );

    // The caller or the run above has less: a model with the same name and another provider is another model.
    let mut parent = effective_grant(&request).unwrap();
    parent.models.retain(|model| model.name == "fast");
    parent.limits.model.output = 5;
    let fewer = (vec!["fast".to_owned()], ModelUse { output: 5, ..most });
    assert_eq!(granted(&GrantRequest { parent: Some(&parent), ..request }), fewer);
    parent.models[0].host = "api.other.com".to_owned();
    let refused = "`examples/list@1.0.0` needs `graph-host:host/model@0.1.0`, but the run that started this one is not granted `model`";
    assert_eq!(says(GrantRequest { parent: Some(&parent), ..request }), refused);

    // The node leaves it out.
    let node = NodeCapabilities { dispatch: None, interfaces: Some(vec!["http".into()]) };
    let refused = "`examples/list@1.0.0` needs `graph-host:host/model@0.1.0`, but the node's own `capabilities` leave out `model`";
    assert_eq!(says(GrantRequest { node: Some(&node), ..request }), refused);
}

fn kinds() -> impl Strategy<Value = BTreeSet<CapabilityKind>> {
    prop::collection::btree_set(prop::sample::select(CapabilityKind::ALL.to_vec()), 0..5)
}

fn limits() -> impl Strategy<Value = TaskLimits> {
    (1..9_u64, 1..9_u64, 1..9_u64, 1..9_u64, 0..9_u64).prop_map(|(fuel, memory, timeout, output, log)| {
        TaskLimits {
            fuel,
            memory,
            timeout: Duration::from_millis(timeout),
            output,
            log,
            ..TaskLimits::DEFAULT
        }
    })
}

fn folders() -> impl Strategy<Value = Vec<Mount>> {
    let access = prop_oneof![Just(Access::ReadOnly), Just(Access::ReadWrite)];
    let folder = (prop::sample::select(vec!["/a", "/a/b", "/ab", "/", "/c"]), access);
    prop::collection::vec(folder, 0..3).prop_map(|folders| {
        let mount = |(at, (host, access)): (usize, (&str, Access))| Mount {
            host: host.into(),
            guest: format!("/{at}"),
            access,
        };
        folders.into_iter().enumerate().map(mount).collect()
    })
}

fn declared() -> impl Strategy<Value = Vec<InterfaceName>> {
    let known: Vec<InterfaceName> = CapabilityKind::ALL
        .into_iter()
        .flat_map(CapabilityKind::interfaces)
        .map(|path| InterfaceName::parse(path).unwrap())
        .collect();
    prop::sample::subsequence(known, 0..6)
}

fn covered(mount: &Mount, wide: &[Mount]) -> bool {
    wide.iter().any(|wide| path::is_within(&mount.host, &wide.host) && mount.access <= wide.access)
}

fn at_most(one: TaskLimits, other: TaskLimits) -> bool {
    one.min(other) == one
}

proptest! {
    #[test]
    fn a_grant_is_never_more_than_any_of_its_operands(
        declared in declared(), ceiling in kinds(), ceiling_limits in prop::option::of(limits()),
        parent in prop::option::of((kinds(), folders(), limits())), node in prop::option::of(kinds()),
        folders in folders(), clocks in any::<bool>(), random in any::<bool>(), entry_limits in limits(),
    ) {
        let ceiling = Ceiling { limits: ceiling_limits, ..Ceiling::from_kinds(ceiling) };
        let mut manifest = manifest("items: { \"examples/*\": { clocks: true } }");
        let entry = &mut std::sync::Arc::make_mut(&mut manifest.items)[0];
        entry.filesystem = folders.iter().map(|mount| super::super::ManifestMount { written: ".".into(), mount: mount.clone() }).collect();
        (entry.clocks, entry.random, entry.limits) = (clocks, random, entry_limits);
        let parent = parent.map(|(kinds, filesystem, limits)| EffectiveGrant { kinds, filesystem, ..EffectiveGrant::nothing(limits) });
        let node = node.map(|kinds| NodeCapabilities {
            dispatch: None,
            interfaces: Some(kinds.into_iter().map(|kind| kind.as_str().to_owned()).collect()),
        });
        let request = GrantRequest { parent: parent.as_ref(), node: node.as_ref(), ..request(&declared, &ceiling, &manifest) };
        if let Ok(grant) = effective_grant(&request) {
            let entry = &manifest.items[0];
            for kind in grant.kinds.iter().filter(|kind| **kind != CapabilityKind::Log) {
                prop_assert!(ceiling.kinds.contains(kind) && entry.grants(*kind));
                prop_assert!(parent.as_ref().is_none_or(|parent| parent.kinds.contains(kind)));
                prop_assert!(node.as_ref().and_then(|node| node.interfaces.as_ref()).is_none_or(|kept| kept.iter().any(|name| name == kind.as_str())));
                let is_own = |interface: &InterfaceName| super::own_kind(interface) == Some(*kind);
                prop_assert!(declared.iter().any(is_own));
            }
            prop_assert_eq!(grant.filesystem.is_empty(), !grant.kinds.contains(&CapabilityKind::Filesystem));
            for mount in &grant.filesystem {
                prop_assert!(covered(mount, &folders));
                prop_assert!(parent.as_ref().is_none_or(|parent| covered(mount, &parent.filesystem)));
            }
            prop_assert!(at_most(grant.limits, entry.limits));
            prop_assert!(ceiling.limits.is_none_or(|limits| at_most(grant.limits, limits)));
            prop_assert!(parent.as_ref().is_none_or(|parent| at_most(grant.limits, parent.limits)));
            // Some granted kind brings each interface.
            for interface in &declared {
                let Provision::Kinds { brought_by, .. } = interface.provision() else { continue };
                prop_assert!(brought_by.iter().any(|kind| grant.kinds.contains(kind)));
            }
            // Without a parent and without the node's restriction, the grant is at least as large.
            let wider = GrantRequest { parent: None, node: None, ..request };
            let wide = effective_grant(&wider).unwrap();
            prop_assert!(wide.kinds.is_superset(&grant.kinds) && at_most(grant.limits, wide.limits));
        }
    }
}
