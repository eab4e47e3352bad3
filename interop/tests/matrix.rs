//! Every feature with every peer, in both roles: `cargo test -p terse-interop --test matrix -- FILTER`.

fn main() -> std::process::ExitCode {
    terse_interop::matrix::main()
}
