//! A component that exports functions with values of every kind of type, and no node action.

wit_bindgen::generate!({ world: "library", path: "wit", generate_all });

use exports::acme::types::{chance, echo, ends, forms, things};

struct Library;

impl Guest for Library {
    fn add(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
}

macro_rules! echo {
    ($($name:ident: $type:ty),* $(,)?) => {
        impl echo::Guest for Library {
            $(fn $name(v: $type) -> $type { v })*
        }
    };
}

echo! {
    echo_u8: u8,
    echo_u16: u16,
    echo_u32: u32,
    echo_u64: u64,
    echo_s8: i8,
    echo_s16: i16,
    echo_s32: i32,
    echo_s64: i64,
    echo_f32: f32,
    echo_f64: f64,
    echo_bool: bool,
    echo_char: char,
    echo_string: String,
    echo_bytes: Vec<u8>,
    echo_texts: Vec<String>,
    echo_lists: Vec<Vec<u32>>,
    echo_record: echo::Point,
    echo_tuple: (u8, String, bool),
    echo_variant: echo::Shape,
    echo_enum: echo::Color,
    echo_flags: echo::Rights,
    echo_option: Option<String>,
    echo_nested: Option<Option<u8>>,
    echo_result: Vec<Result<u8, String>>,
    echo_units: (Result<(), ()>, Result<u8, ()>, Result<(), u8>),
}

impl ends::Guest for Library {
    fn nothing() {}

    fn divide(a: u32, b: u32) -> Result<u32, String> {
        a.checked_div(b).ok_or_else(|| format!("{a} cannot be divided by {b}"))
    }

    fn look(how: u8) -> Result<String, ends::Problem> {
        match how {
            0 => Ok("found".to_owned()),
            1 => Err(ends::Problem::NotFound("there is none".to_owned())),
            2 => Err(ends::Problem::RateLimited(30)),
            3 => Err(ends::Problem::InvalidInput),
            other => Err(ends::Problem::Odd(other.into())),
        }
    }

    fn told() -> Result<(), ends::Report> {
        Err(ends::Report { category: "timeout".to_owned(), message: "it took too long".to_owned(), code: 7 })
    }

    fn silent() -> Result<(), ()> {
        Err(())
    }

    fn stop() {
        panic!("stop");
    }

    fn spin() {
        let mut at = 0_u64;
        loop {
            at = std::hint::black_box(at.wrapping_add(1));
        }
    }

    fn large(bytes: u32) -> Vec<u8> {
        vec![0; bytes as usize]
    }
}

impl forms::Guest for Library {
    fn echo_counts(v: forms::Counts) -> forms::Counts {
        v
    }

    fn echo_many(v: forms::Many) -> forms::Many {
        v
    }

    fn echo_deep(v: Option<Option<Option<u8>>>) -> Option<Option<Option<u8>>> {
        v
    }

    fn echo_arrays(v: forms::Arrays) -> forms::Arrays {
        v
    }

    fn echo_choices(v: Vec<forms::Choice>) -> Vec<forms::Choice> {
        v
    }

    fn join(
        a: String,
        b: u8,
        c: i64,
        d: f32,
        e: Vec<String>,
        f: Option<u8>,
        g: (u8, String),
        h: bool,
        i: char,
        j: f64,
        k: u64,
    ) -> String {
        format!("{a:?} {b} {c} {d:?} {e:?} {f:?} {g:?} {h} {i:?} {j:?} {k}")
    }

    fn fail() -> Result<u8, forms::Counts> {
        Err(forms::Counts {
            to_string: "a text".to_owned(),
            http_status: 404,
            a1: u64::MAX,
            constructor: None,
        })
    }

    fn fail_silently() -> Result<u8, ()> {
        Err(())
    }

    fn look_again(how: u8) -> forms::Looked {
        <Self as ends::Guest>::look(how)
    }
}

struct Counter(std::cell::Cell<u32>);

impl things::Guest for Library {
    type Counter = Counter;

    fn take(of: things::Counter) -> u32 {
        of.get::<Counter>().0.get()
    }
}

impl things::GuestCounter for Counter {
    fn new() -> Self {
        Self(std::cell::Cell::new(0))
    }

    fn next(&self) -> u32 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }
}

impl chance::Guest for Library {
    fn roll() -> u64 {
        wasi::random::random::get_random_u64()
    }
}

export!(Library);
