//! The walker as a component: `graph-web` behind the interfaces of `wit/walker`. It imports nothing.

use std::cell::RefCell;

use graph_web::{digests, documents, functions, host, models, run, trust};

use bindings::exports::graph_host::walker::{
    digests as digests_of, documents as documents_of, functions as functions_of, host as host_of,
    models as models_of, replays as replays_of, runs as runs_of, trust as trust_of,
};
use bindings::graph_host::walker::types::Problem;

/// Generated bindings of `wit/walker`.
#[allow(missing_docs, clippy::all, clippy::pedantic, unreachable_pub)]
mod bindings {
    wit_bindgen::generate!({ world: "graph-host:walker/walker", path: "../../../wit/walker", generate_all });
}

struct Walker;

bindings::export!(Walker with_types_in bindings);

fn problem(problem: graph_web::Problem) -> Problem {
    let graph_web::Problem { code, message, help, details } = problem;
    Problem { code, message, help, details: details.map(|details| details.to_string()) }
}

impl documents_of::Guest for Walker {
    fn check_graph(name: String, id: String, text: String) -> String {
        documents::check_graph(&name, &id, &text)
    }

    fn topology(name: String, id: String, text: String) -> Result<String, Problem> {
        documents::topology(&name, &id, &text).map_err(problem)
    }

    fn to_mermaid(topology: String) -> Result<String, Problem> {
        documents::to_mermaid(&topology).map_err(problem)
    }

    fn to_dot(topology: String) -> Result<String, Problem> {
        documents::to_dot(&topology).map_err(problem)
    }

    fn check_inputs(name: String, id: String, text: String, inputs: String) -> Result<String, Problem> {
        documents::check_inputs(&name, &id, &text, &inputs).map_err(problem)
    }

    fn check_manifest(name: String, folder: String, text: String) -> String {
        documents::check_manifest(&name, &folder, &text)
    }

    fn explain(code: String) -> Option<String> {
        documents::explain(&code)
    }
}

impl trust_of::Guest for Walker {
    type Component = Component;

    fn check_store(name: String, text: String) -> String {
        trust::check_store(&name, &text)
    }

    fn verify_text(
        kind: String,
        id: String,
        text: String,
        store: String,
        now: u64,
    ) -> Result<String, Problem> {
        trust::verify_text(&kind, &id, &text, &store, now).map_err(problem)
    }
}

struct Component(trust::Component);

impl trust_of::GuestComponent for Component {
    fn verify(
        bytes: Vec<u8>,
        envelope: Option<String>,
        store: String,
        item: String,
        now: u64,
        recorded: u64,
    ) -> Result<trust_of::Component, Problem> {
        trust::Component::verify(bytes, envelope.as_deref(), &store, &item, now, recorded)
            .map(|verified| trust_of::Component::new(Self(verified)))
            .map_err(problem)
    }

    fn under_development(
        bytes: Vec<u8>,
        store: String,
        item: String,
        imports: Vec<String>,
    ) -> Result<trust_of::Component, Problem> {
        trust::Component::under_development(bytes, &store, &item, &imports)
            .map(|taken| trust_of::Component::new(Self(taken)))
            .map_err(problem)
    }

    fn function(&self, name: String) -> trust_of::Component {
        trust_of::Component::new(Self(self.0.function(&name)))
    }

    fn report(&self) -> String {
        self.0.report()
    }

    fn grant(
        &self,
        name: String,
        id: String,
        text: String,
        node: Option<String>,
        manifest: String,
        folder: String,
    ) -> Result<String, Problem> {
        self.0.grant((&name, &id, &text), node.as_deref(), &manifest, &folder).map_err(problem)
    }
}

impl digests_of::Guest for Walker {
    fn canonical(value: String) -> Result<String, Problem> {
        digests::canonical(&value).map_err(problem)
    }

    fn of_bytes(bytes: Vec<u8>) -> String {
        digests::of_bytes(&bytes)
    }

    fn of_inputs(inputs: String) -> Result<String, Problem> {
        digests::of_inputs(&inputs).map_err(problem)
    }

    fn of_manifest(name: String, folder: String, text: String) -> Result<String, Problem> {
        digests::of_manifest(&name, &folder, &text).map_err(problem)
    }

    fn of_state(channels: String) -> Result<String, Problem> {
        digests::of_state(&channels).map_err(problem)
    }

    fn of_channel(value: String, segment: bool, before: Option<String>) -> Result<String, Problem> {
        digests::of_channel(&value, segment, before.as_deref()).map_err(problem)
    }
}

impl host_of::Guest for Walker {
    type Random = Random;
    type Outgoing = Outgoing;
    type Ranking = Ranking;

    fn read_json(text: String) -> Result<String, String> {
        host::read_json(&text)
    }

    fn call_seed(seed: Vec<u8>, number: u64, item: String) -> Vec<u8> {
        host::call_seed(&seed, number, &item).to_vec()
    }
}

struct Ranking(RefCell<host::KnowledgeRanking>);

impl host_of::GuestRanking for Ranking {
    fn open(prefix: String, query: String, limit: u32) -> Result<host_of::Ranking, String> {
        let opened = host::KnowledgeRanking::open(&prefix, &query, limit)?;
        Ok(host_of::Ranking::new(Self(RefCell::new(opened))))
    }

    fn add(&self, key: String, text: String) {
        self.0.borrow_mut().add(&key, &text);
    }

    fn best(&self) -> Vec<String> {
        self.0.borrow().best()
    }

    fn excerpt(&self, text: String) -> String {
        self.0.borrow().excerpt(&text)
    }
}

struct Outgoing(host::OutgoingRequests);

impl host_of::GuestOutgoing for Outgoing {
    fn open(grant: String, secrets: Vec<(String, String)>) -> Result<host_of::Outgoing, String> {
        host::OutgoingRequests::open(&grant, &secrets).map(|opened| host_of::Outgoing::new(Self(opened)))
    }

    fn prepare(
        &self,
        scheme: String,
        host: String,
        port: u16,
        method: String,
        fields: Vec<host_of::Field>,
    ) -> Result<Vec<host_of::Field>, String> {
        self.0.prepare(&scheme, &host, port, &method, fields)
    }

    fn receive(
        &self,
        host: String,
        status: u16,
        fields: Vec<host_of::Field>,
        body: Vec<u8>,
    ) -> Result<(Vec<host_of::Field>, Vec<u8>), String> {
        self.0.receive(&host, status, fields, body)
    }
}

struct Random(RefCell<host::SeededRandom>);

impl host_of::GuestRandom for Random {
    fn new(seed: Vec<u8>) -> Self {
        Self(RefCell::new(host::SeededRandom::from_seed(&seed)))
    }

    fn bytes(&self, length: u32) -> Vec<u8> {
        self.0.borrow_mut().bytes(length)
    }

    fn number(&self) -> u64 {
        self.0.borrow_mut().number()
    }
}

impl functions_of::Guest for Walker {
    type FunctionCall = FunctionCall;
}

struct FunctionCall(RefCell<functions::FunctionCall>);

impl functions_of::GuestFunctionCall for FunctionCall {
    fn open(types: String, params: String) -> Result<functions_of::FunctionCall, String> {
        let opened = functions::FunctionCall::open(&types, &params)?;
        Ok(functions_of::FunctionCall::new(Self(RefCell::new(opened))))
    }

    fn values(&self) -> String {
        self.0.borrow_mut().values()
    }

    fn answer(&self, given: String, output: u64) -> Result<String, Problem> {
        self.0.borrow().answer(&given, output).map_err(problem)
    }

    fn work(&self) -> u64 {
        self.0.borrow().work()
    }
}

impl models_of::Guest for Walker {
    type Budget = Budget;
    type Call = Call;
    type Provider = Provider;

    fn used_in(entry: String) -> Result<String, Problem> {
        models::used_in(&entry).map_err(problem)
    }
}

struct Budget(RefCell<models::ComponentBudget>);

impl Budget {
    fn new(
        opened: Result<models::ComponentBudget, graph_web::Problem>,
    ) -> Result<models_of::Budget, Problem> {
        opened.map(|budget| models_of::Budget::new(Self(RefCell::new(budget)))).map_err(problem)
    }
}

impl models_of::GuestBudget for Budget {
    fn open(limits: Vec<String>) -> Result<models_of::Budget, Problem> {
        Self::new(models::ComponentBudget::open(&limits))
    }

    fn inside(&self, limits: String) -> Result<models_of::Budget, Problem> {
        Self::new(self.0.borrow().inside(&limits))
    }

    fn charge(&self, used: String) -> Result<(), Problem> {
        self.0.borrow_mut().charge(&used).map_err(problem)
    }

    fn used(&self) -> String {
        self.0.borrow().used()
    }

    fn left(&self) -> String {
        self.0.borrow().left()
    }
}

struct Call(RefCell<models::ModelCall>);

impl models_of::GuestCall for Call {
    fn open(grant: String, request: String) -> Result<models_of::Call, String> {
        let opened = models::ModelCall::open(&grant, &request)?;
        Ok(models_of::Call::new(Self(RefCell::new(opened))))
    }

    fn asked(&self) -> String {
        self.0.borrow().asked()
    }

    fn begin(&self, budget: models_of::BudgetBorrow<'_>) -> Result<(Vec<models_of::Field>, Vec<u8>), String> {
        let models::PartialRequest { fields, body } =
            self.0.borrow_mut().begin(&mut budget.get::<Budget>().0.borrow_mut())?;
        Ok((fields, body))
    }

    fn total(&self, budget: models_of::BudgetBorrow<'_>) -> String {
        self.0.borrow().total(&budget.get::<Budget>().0.borrow())
    }

    fn settle(
        &self,
        budget: models_of::BudgetBorrow<'_>,
        tried: String,
        left: u64,
    ) -> Result<String, Problem> {
        let mut budget = budget.get::<Budget>().0.borrow_mut();
        self.0.borrow_mut().settle(&mut budget, &tried, left).map_err(problem)
    }

    fn late(&self, budget: models_of::BudgetBorrow<'_>) -> String {
        self.0.borrow().late(&mut budget.get::<Budget>().0.borrow_mut())
    }

    fn recorded(&self, kept: String, ok: bool) -> Option<String> {
        self.0.borrow().recorded(&kept, ok)
    }
}

struct Provider(models::Provider);

impl models_of::GuestProvider for Provider {
    fn open(grant: String, name: String, key: Option<String>) -> Result<models_of::Provider, String> {
        models::Provider::open(&grant, &name, key.as_deref())
            .map(|opened| models_of::Provider::new(Self(opened)))
    }

    fn prepare(&self, fields: Vec<models_of::Field>) -> Result<models_of::ProviderRequest, String> {
        let models::ProviderRequest { url, fields, timeout } = self.0.prepare(fields)?;
        Ok(models_of::ProviderRequest { url, fields, timeout })
    }

    fn read(&self, status: u16, fields: Vec<models_of::Field>, body: Vec<u8>, most: u64) -> String {
        self.0.read(status, fields, body, most)
    }

    fn failed(&self, error: String, message: String, sent: bool) -> String {
        self.0.failed(&error, &message, sent)
    }
}

impl runs_of::Guest for Walker {
    type Run = Run;
}

struct Run(RefCell<run::Run>);

impl Run {
    fn new(begun: Result<run::Run, graph_web::Problem>) -> Result<runs_of::Run, Problem> {
        begun.map(|run| runs_of::Run::new(Self(RefCell::new(run)))).map_err(problem)
    }
}

impl runs_of::GuestRun for Run {
    fn start(setup: String) -> Result<runs_of::Run, Problem> {
        Self::new(run::Run::start(&setup))
    }

    fn restore(setup: String, stored: String) -> Result<runs_of::Run, Problem> {
        Self::new(run::Run::restore(&setup, &stored))
    }

    fn fork(setup: String, stored: String, checkpoint: u64) -> Result<runs_of::Run, Problem> {
        Self::new(run::Run::fork(&setup, &stored, checkpoint))
    }

    fn verify(run: String, key: String, stored: String) -> Result<String, Problem> {
        run::Run::verify(&run, &key, &stored).map_err(problem)
    }

    fn handle(&self, now: u64, event: String) -> Result<String, Problem> {
        // Nothing calls back into the component, so that no other call holds the borrow.
        self.0.borrow_mut().handle(now, &event).map_err(problem)
    }

    fn summary(&self) -> String {
        self.0.borrow().summary()
    }

    fn grant(&self, task: String, component: trust_of::ComponentBorrow<'_>) -> Result<String, Problem> {
        self.0.borrow().grant(&task, &component.get::<Component>().0).map_err(problem)
    }

    fn check_call(&self, task: String, item: String, depth: u32) -> Result<(), Problem> {
        self.0.borrow().check_call(&task, &item, depth).map_err(problem)
    }

    fn grant_call(
        &self,
        task: String,
        component: trust_of::ComponentBorrow<'_>,
        caller: String,
    ) -> Result<String, Problem> {
        self.0.borrow().grant_call(&task, &component.get::<Component>().0, &caller).map_err(problem)
    }

    fn cache_key(&self, task: String, performer: String) -> Result<String, Problem> {
        self.0.borrow().cache_key(&task, &performer).map_err(problem)
    }
}

impl replays_of::Guest for Walker {
    type Replay = Replay;
}

struct Replay(RefCell<run::Replay>);

impl replays_of::GuestReplay for Replay {
    fn open(setup: String, stored: String) -> Result<replays_of::Replay, Problem> {
        let opened = run::Replay::open(&setup, &stored).map_err(problem)?;
        Ok(replays_of::Replay::new(Self(RefCell::new(opened))))
    }

    fn next_step(&self) -> Result<String, Problem> {
        // Nothing calls back into the component, so that no other call holds the borrow.
        self.0.borrow_mut().next_step().map_err(problem)
    }

    fn executed(&self, report: String, difference: Option<String>) -> Result<(), Problem> {
        self.0.borrow_mut().executed(&report, difference).map_err(problem)
    }

    fn looked_up(
        &self,
        component: Option<trust_of::ComponentBorrow<'_>>,
        engine: String,
    ) -> Result<(), Problem> {
        let component = component.as_ref().map(|component| &component.get::<Component>().0);
        self.0.borrow_mut().looked_up(component, &engine).map_err(problem)
    }

    fn summary(&self) -> String {
        self.0.borrow().summary()
    }

    fn grant(&self, task: String, component: trust_of::ComponentBorrow<'_>) -> Result<String, Problem> {
        self.0.borrow().grant(&task, &component.get::<Component>().0).map_err(problem)
    }
}
