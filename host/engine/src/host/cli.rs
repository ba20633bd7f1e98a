//! `wasi:cli`, which every component may import because language runtimes do, and which has no effect outside: no environment, no
//! arguments, standard input at its end, standard output and standard error as log lines, no terminal.

use bytes::Bytes;
use graph_core::node::Category;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::pipe::ClosedInputStream;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

use crate::bindings::wasi::cli::{
    environment, exit, stderr, stdin, stdout, terminal_input, terminal_output, terminal_stderr,
    terminal_stdin, terminal_stdout,
};
use crate::classify::GuestFault;
use crate::host::output::{Output, StandardStream};
use crate::state::TaskState;

/// Largest number of bytes of one write.
const MAX_WRITE: usize = 64 << 10;

/// A terminal, which never exists.
#[allow(unreachable_pub, reason = "the generated bindings export it again")]
pub enum NoTerminal {}

/// Standard output or standard error.
struct LogStream {
    output: Output,
    stream: StandardStream,
}

#[wasmtime_wasi::async_trait]
impl Pollable for LogStream {
    async fn ready(&mut self) {}
}

impl OutputStream for LogStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.output.write(self.stream, &bytes).map_err(|limit| StreamError::Trap(limit.into()))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_WRITE)
    }
}

impl TaskState {
    fn log_stream(&mut self, stream: StandardStream) -> wasmtime::Result<Resource<DynOutputStream>> {
        let log: DynOutputStream = Box::new(LogStream { output: self.output.clone(), stream });
        Ok(self.table.push(log)?)
    }
}

impl environment::Host for TaskState {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(Vec::new())
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(None)
    }
}

impl exit::Host for TaskState {
    fn exit(&mut self, status: Result<(), ()>) -> wasmtime::Result<()> {
        self.exit_with_code(u8::from(status.is_err()))
    }

    fn exit_with_code(&mut self, status: u8) -> wasmtime::Result<()> {
        let message = format!("it called `exit` with status {status} instead of returning an outcome");
        Err(GuestFault::new(Category::Permanent, message).into())
    }
}

impl stdin::Host for TaskState {
    fn get_stdin(&mut self) -> wasmtime::Result<Resource<DynInputStream>> {
        let ended: DynInputStream = Box::new(ClosedInputStream);
        Ok(self.table.push(ended)?)
    }
}

impl stdout::Host for TaskState {
    fn get_stdout(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.log_stream(StandardStream::Output)
    }
}

impl stderr::Host for TaskState {
    fn get_stderr(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.log_stream(StandardStream::Error)
    }
}

impl terminal_input::Host for TaskState {}

impl terminal_input::HostTerminalInput for TaskState {
    fn drop(&mut self, terminal: Resource<NoTerminal>) -> wasmtime::Result<()> {
        self.table.delete(terminal)?;
        Ok(())
    }
}

impl terminal_output::Host for TaskState {}

impl terminal_output::HostTerminalOutput for TaskState {
    fn drop(&mut self, terminal: Resource<NoTerminal>) -> wasmtime::Result<()> {
        self.table.delete(terminal)?;
        Ok(())
    }
}

impl terminal_stdin::Host for TaskState {
    fn get_terminal_stdin(&mut self) -> wasmtime::Result<Option<Resource<NoTerminal>>> {
        Ok(None)
    }
}

impl terminal_stdout::Host for TaskState {
    fn get_terminal_stdout(&mut self) -> wasmtime::Result<Option<Resource<NoTerminal>>> {
        Ok(None)
    }
}

impl terminal_stderr::Host for TaskState {
    fn get_terminal_stderr(&mut self) -> wasmtime::Result<Option<Resource<NoTerminal>>> {
        Ok(None)
    }
}
