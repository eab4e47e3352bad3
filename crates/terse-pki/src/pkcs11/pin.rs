//! The PIN of a token, in a file.
//!
//! What must always hold: the PIN is erased from memory, and in no message.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use cryptoki::types::RawAuthPin;
use zeroize::Zeroizing;

use crate::Error;

/// Reads the first line of a file.
pub(super) fn read(path: &Path) -> Result<RawAuthPin, Error> {
    let mut contents = Zeroizing::new(Vec::with_capacity(MAX_LEN + 1)); // it does not grow, which would leave a copy
    let read = File::open(path).and_then(|file| file.take(MAX_LEN as u64).read_to_end(&mut contents));
    read.map_err(|e| Error::file(path, format!("the PIN cannot be read: {e}; write it into this file")))?;
    if contents.len() == MAX_LEN {
        return Err(Error::file(path, "this is too long for a PIN; write the PIN alone into this file"));
    }
    match terse_pem::first_line(&contents) {
        [] => Err(Error::file(path, "the first line is empty; write the PIN there")),
        pin => Ok(RawAuthPin::new(Box::new(pin.to_vec()))),
    }
}

/// More than the bytes of the longest PIN and an end of line.
const MAX_LEN: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_the_first_line_and_is_not_printed() {
        let scratch = tempfile::TempDir::new().unwrap();
        let path = scratch.path().join("pin");
        for (contents, is_pin) in
            [("1234", true), ("1234\n", true), ("\u{feff}1234\r\nmore", true), ("", false), ("\n1234", false)]
        {
            std::fs::write(&path, contents).unwrap();
            match read(&path) {
                Ok(pin) => assert!(is_pin && !format!("{pin:?}").contains("1234")),
                Err(error) => assert!(!is_pin && !error.to_string().contains("1234"), "{error}"),
            }
        }
        std::fs::write(&path, "1".repeat(MAX_LEN)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("too long"));
        assert!(read(&scratch.path().join("none")).unwrap_err().to_string().contains("none: the PIN cannot be read"));
    }
}
