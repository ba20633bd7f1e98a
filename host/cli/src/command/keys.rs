//! `graph-host keys`: the key pairs of the user.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use graph_core::diagnostic::shell_quoted;
use graph_core::trust::{Rotation, VerifyingKey};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{BOLD, DIM, styled};
use graph_host::terminal::paths::shown;
use graph_host::terminal::remedies;
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::project::key_pairs::{KeyPair, Pairs, signing_key, verifying_key};
use graph_runtime::project::user_home::write_atomic;
use serde::Serialize;

/// Make and show the keys that you sign with
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Generate an Ed25519 key pair
    Generate(Generate),
    /// List your key pairs
    List,
    /// Show the public half of a key
    Show(Show),
    /// Generate a key that succeeds one of yours, and write the signed statement of this succession
    Rotate(Rotate),
    /// Give this host a new key to sign runs with; runs that the old key has signed stay verifiable
    RotateHost(RotateHost),
}

#[derive(Debug, clap::Args)]
struct Generate {
    /// The name of the key: letters, digits, `_` and `-`
    name: String,
    /// Write the two files into this folder instead of your own space
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Replace a key of that name; the old private key is lost
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
struct Rotate {
    /// The key to be succeeded: the name of one of yours
    old: String,
    /// The name of the new key
    new: String,
    /// Where to write the statement; without it, NEW.rotation.json next to the new key
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct RotateHost {
    /// Destroy the old private key: runs that it has signed can be verified, but no longer resumed
    #[arg(long)]
    destroy: bool,
}

#[derive(Debug, clap::Args)]
struct Show {
    /// The name of a key of yours, or a file with a public key
    key: String,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let output = context.output;
    match args.command {
        Command::Generate(args) => {
            let report = generate(args, context)?;
            output.show(&report, || report.render())?;
        }
        Command::List => {
            let report = list(context)?;
            output.show(&report, || report.render())?;
        }
        Command::Show(args) => {
            let report = show(&args.key, context)?;
            output.show(&report, || report.render())?;
        }
        Command::Rotate(args) => {
            let report = rotate(&args, context)?;
            output.show(&report, || report.render())?;
        }
        Command::RotateHost(args) => {
            let report = rotate_host(&args, context)?;
            output.show(&report, || report.render())?;
        }
    }
    Ok(Exit::Ok)
}

/// A key pair in the reports of `keys`.
#[derive(Debug, Serialize)]
struct PairReport {
    name: String,
    id: String,
    public: String,
    private_file: String,
    public_file: String,
}

impl From<KeyPair> for PairReport {
    fn from(pair: KeyPair) -> Self {
        Self {
            id: pair.public.id().to_string(),
            public: pair.public.hex(),
            private_file: shown(&pair.private_file),
            public_file: shown(&pair.public_file),
            name: pair.name,
        }
    }
}

impl PairReport {
    fn render(&self) -> String {
        let Self { name, id, private_file, public_file, .. } = self;
        let field = |name: &str| styled(DIM, format_args!("{name:<8}"));
        format!(
            "{} {}\n{} {id}\n{} {private_file}\n{} {public_file}\n\n{}",
            field("key"),
            styled(BOLD, name),
            field("id"),
            field("private"),
            field("public"),
            styled(
                DIM,
                format_args!(
                    "Keep the private file to yourself and a copy of it in a safe place. Everyone who should trust what you sign runs\n  \
                     graph-host trust add {} --key {} --items 'YOUR-ITEMS/*'",
                    shell_quoted(name),
                    shell_quoted(public_file)
                )
            )
        )
    }
}

fn generate(args: Generate, context: &Context) -> Result<PairReport> {
    let pairs = args.out.map_or_else(|| Pairs::in_home(&context.host.home), Pairs::at);
    pairs.generate(&args.name, args.force).map(PairReport::from)
}

#[derive(Debug, Serialize)]
struct RotateReport {
    old_id: String,
    key: PairReport,
    statement: String,
}

/// Generates a successor of a key. Its statement is written before the key: a statement about a key that does not exist has no effect,
/// and the next attempt replaces it.
fn rotate(args: &Rotate, context: &Context) -> Result<RotateReport> {
    let pairs = Pairs::in_home(&context.host.home);
    let old = signing_key(&context.host.home, &args.old)?;
    let beside = || context.host.home.keys().join(format!("{}.rotation.json", args.new));
    let file = args.out.clone().unwrap_or_else(beside);
    let pair = pairs.generate_after(&args.new, false, |new| {
        let rotation = Rotation::sign(&old, new, now()).map_err(|error| Error::usage(error.to_string()))?;
        write_atomic(&file, rotation.to_text().as_bytes(), false)
            .map_err(|error| Error::write("the rotation", &file, &error))
    })?;
    Ok(RotateReport { old_id: old.id().to_string(), key: pair.into(), statement: shown(&file) })
}

impl RotateReport {
    fn render(&self) -> String {
        format!(
            "{} {} follows {}\n{} {}\n\n{}",
            styled(DIM, format_args!("{:<9}", "key")),
            styled(BOLD, &self.key.name),
            self.old_id,
            styled(DIM, format_args!("{:<9}", "statement")),
            self.statement,
            styled(
                DIM,
                format_args!(
                    "Sign with the new key from now on, and sign again what is in use. Everyone who trusts the old one runs\n  \
                     graph-host trust rotate {}",
                    shell_quoted(&self.statement)
                )
            )
        )
    }
}

#[derive(Debug, Serialize)]
struct RotateHostReport {
    old_id: String,
    id: String,
    statement: String,
    destroyed: bool,
}

fn rotate_host(args: &RotateHost, context: &Context) -> Result<RotateHostReport> {
    let followed = context.host.home.rotate_identity(args.destroy, now())?;
    Ok(RotateHostReport {
        old_id: followed.old.to_string(),
        id: followed.new.to_string(),
        statement: shown(&followed.statement),
        destroyed: args.destroy,
    })
}

impl RotateHostReport {
    fn render(&self) -> String {
        let old = if self.destroyed {
            "the old private key is gone: its runs can be verified, and not continued"
        } else {
            "the old key is kept: its runs can be verified and continued"
        };
        let field = |name: &str| styled(DIM, format_args!("{name:<9}"));
        format!(
            "{} {}\n{} {}\n{} {}\n{}",
            field("host key"),
            self.id,
            field("follows"),
            self.old_id,
            field("statement"),
            self.statement,
            styled(DIM, old)
        )
    }
}

#[derive(Debug, Serialize)]
struct ListReport {
    folder: String,
    keys: Vec<PairReport>,
    unusable: Vec<UnusableReport>,
}

#[derive(Debug, Serialize)]
struct UnusableReport {
    name: String,
    message: String,
}

fn list(context: &Context) -> Result<ListReport> {
    let pairs = Pairs::in_home(&context.host.home);
    let mut report =
        ListReport { folder: shown(&context.host.home.keys()), keys: Vec::new(), unusable: Vec::new() };
    for name in pairs.names()? {
        match pairs.get(&name) {
            Ok(pair) => report.keys.push(pair.into()),
            Err(error) => {
                report.unusable.push(UnusableReport { name, message: remedies::message(&error) });
            }
        }
    }
    Ok(report)
}

impl ListReport {
    fn render(&self) -> String {
        if self.keys.is_empty() && self.unusable.is_empty() {
            return format!("no keys in {}\nmake one with `graph-host keys generate NAME`", self.folder);
        }
        let names = self.keys.iter().map(|key| &key.name).chain(self.unusable.iter().map(|key| &key.name));
        let width = names.map(String::len).max().unwrap_or(0);
        let mut text = String::new();
        for key in &self.keys {
            let name = styled(BOLD, format_args!("{:width$}", key.name));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}  {}  {}", key.id, styled(DIM, &key.private_file));
        }
        for key in &self.unusable {
            let _ = writeln!(text, "{:width$}  unusable: {}", key.name, key.message);
        }
        text.truncate(text.trim_end().len());
        text
    }
}

#[derive(Debug, Serialize)]
struct ShowReport {
    id: String,
    public: String,
    pem: String,
}

fn show(key: &str, context: &Context) -> Result<ShowReport> {
    let key: VerifyingKey = verifying_key(&context.host.home, key)?;
    let pem = key.to_pem().map_err(|error| Error::storage(error.to_string()))?;
    Ok(ShowReport { id: key.id().to_string(), public: key.hex(), pem })
}

impl ShowReport {
    fn render(&self) -> String {
        // Programs that read PEM ignore text before the block, so it can describe the key.
        format!("id      {}\npublic  {}\n\n{}", self.id, self.public, self.pem.trim_end())
    }
}
