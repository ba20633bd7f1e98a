// What the examples are run with, and what their questions are answered.

/** `answers` gives the answers to the questions of each suspension: by what a question says. */
export const EXAMPLES = [
  { name: "approval", suspensions: ["replace checkpoint with milestone", "louder", "accept"] },
  { name: "code-review", suspensions: ["apply: later"] },
  { name: "etl" },
  { name: "etl", inputs: { of: "graph-" } },
  { name: "map-reduce" },
  { name: "multi-file-review" },
  { name: "negotiation" },
  { name: "negotiation", inputs: { reviewer_limit: 81 } },
  { name: "nested-graphs", suspensions: ["keep"] },
  { name: "project-stats" },
  { name: "selective-feedback" },
  { name: "tool-router" },
];

/** The files of the repository that the examples see. */
export const SEEN = [
  "Cargo.lock", "README.md", "CHANGELOG.md", "host/core/src", "host/core/Cargo.toml", "host/engine/src/lib.rs",
  "host/store/src/lib.rs", "guest-sdk/rust/src", "wit",
];
