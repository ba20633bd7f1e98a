//! Resumes of the model: with answers, with new inputs, with another limit, and in another turn.

use super::{Answers, Fields, Model, V};

impl Model<'_> {
    pub(super) fn resume(
        &mut self,
        answers: &Answers,
        max_steps: Option<u64>,
        inputs: Option<&Fields>,
    ) -> Result<(), &'static str> {
        if self.ended_by.is_some() {
            let Some(inputs) = inputs else {
                self.saw("a resume of a finished run");
                return Err("finished");
            };
            self.turn(inputs, max_steps);
            return Ok(());
        }
        if std::mem::take(&mut self.cancel) {
            self.saw("cancel");
            self.forget();
            self.stop("cancelled", None);
            return Ok(());
        }
        let by_tasks = self.interrupts.iter().any(|(_, _, payload)| payload.is_some());
        let answered = if inputs.is_some() { Vec::new() } else { self.answers(answers, by_tasks)? };
        let most = max_steps.unwrap_or(self.max_steps);
        if self.steps >= most && (max_steps.is_some() || self.status == "limit") {
            self.saw("a total that is not larger");
            return Err("limit");
        }
        if max_steps.is_some() {
            self.max_steps = most;
            self.given_max_steps = most;
        }
        // A resume releases the pause at which the run stopped, but not one that a cancellation prevented.
        if self.status == "interrupted" && !by_tasks {
            self.released = true;
        }
        if by_tasks && !answered.is_empty() && answered.len() < self.interrupts.len() {
            self.saw("a partial answer");
        }
        for (id, answer) in answered {
            if matches!(answer, V::Null | V::Bool(false)) {
                self.saw("null or false is an answer");
            }
            self.interrupts.retain(|(asked, ..)| *asked != id);
            let ordinal = id.split(['.', '/']).nth(1).and_then(|ordinal| ordinal.parse().ok());
            if let (true, Some(ordinal)) = (by_tasks, ordinal) {
                self.kept.entry(ordinal).or_default().answers.push(answer);
            }
        }
        if let Some(inputs) = inputs {
            self.saw(if self.kept.is_empty() { "new inputs" } else { "new inputs discard what was kept" });
            self.inputs.extend(inputs.clone());
            self.kept.clear();
            self.interrupts.clear();
        }
        if !by_tasks {
            self.interrupts.clear();
        }
        self.forget();
        self.error = None;
        self.go();
        Ok(())
    }

    /// Begins another turn of a run that has ended.
    fn turn(&mut self, inputs: &Fields, max_steps: Option<u64>) {
        self.saw("another turn");
        self.inputs.extend(inputs.clone());
        for (name, (reducer, _)) in &self.graph.channels {
            match *reducer {
                "ephemeral" => drop(self.state.remove(*name)),
                "topic" => drop(self.state.insert((*name).to_owned(), V::List(Vec::new()))),
                _ => {}
            }
        }
        self.forget();
        self.next.clear();
        self.deferred.clear();
        self.barriers.clear();
        self.just_visited.clear();
        self.kept.clear();
        self.interrupts.clear();
        self.released = false;
        self.continued = false;
        self.limit_reached = false;
        (self.ended_by, self.output, self.error) = (None, None, None);
        self.status = "running";
        self.given_max_steps = max_steps.unwrap_or(self.given_max_steps);
        let most = if self.given_max_steps > 0 { self.given_max_steps } else { self.graph.max_steps };
        self.max_steps = self.steps + most;
        self.before_turn = self.steps;
        self.begin();
    }

    /// Resets untracked channels, which are never persisted.
    fn forget(&mut self) {
        for (name, (reducer, default)) in &self.graph.channels {
            if *reducer == "untracked" {
                match default {
                    Some(value) => self.state.insert((*name).to_owned(), value.clone()),
                    None => self.state.remove(*name),
                };
            }
        }
    }

    /// Matches answers to questions.
    fn answers(&mut self, answers: &Answers, by_tasks: bool) -> Result<Vec<(String, V)>, &'static str> {
        let open = &self.interrupts;
        let given = match answers {
            Answers::None => Vec::new(),
            Answers::Bare(value) => match &open[..] {
                [] => return Err("unknown_interrupt"),
                [(id, ..)] => vec![(id.clone(), value.clone())],
                _ if by_tasks => {
                    self.saw("a bare answer to several");
                    return Err("ambiguous_answer");
                }
                _ => Vec::new(),
            },
            Answers::Named(named) => {
                let mut given = Vec::new();
                for (wanted, value) in named {
                    let by_id: Vec<_> = open.iter().filter(|(id, ..)| id == wanted).collect();
                    let by_node: Vec<_> =
                        open.iter().filter(|(_, node, _)| Self::name(*node) == *wanted).collect();
                    let id = match if by_id.is_empty() { &by_node[..] } else { &by_id[..] } {
                        [] => {
                            self.saw("an unknown question");
                            return Err("unknown_interrupt");
                        }
                        [(id, ..)] => id.clone(),
                        _ => {
                            self.saw("a node that asks more than once");
                            return Err("ambiguous_answer");
                        }
                    };
                    given.push((id, value.clone()));
                }
                given
            }
        };
        let needed = by_tasks && matches!(self.status, "interrupted" | "failed");
        if given.is_empty() && needed {
            self.saw("an answer that is missing");
            return Err("answer_needed");
        }
        Ok(given)
    }
}
