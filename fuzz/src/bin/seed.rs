//! `seed DIRECTORY` writes the inputs that fuzzing begins with, in a directory for each target: real handshakes of every
//! mode, messages, files and certificates.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let directory = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: seed DIRECTORY"))?;
    for (target, seeds) in terse_fuzz::seeds::all() {
        let directory = Path::new(&directory).join(target);
        fs::create_dir_all(&directory)?;
        for (name, bytes) in seeds {
            fs::write(directory.join(name), bytes)?;
        }
    }
    Ok(())
}
