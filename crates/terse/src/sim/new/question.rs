//! Questions and their answers: from options of the command, from a terminal, or from a pipe.
//!
//! What must always hold: what an option answers is not asked; only a person at a terminal is asked the same question again.

use std::io::{BufRead, Write};

use crate::failure::Failure;

/// A question.
pub(super) struct Question {
    /// The option that answers it, without the dashes.
    pub(super) option: &'static str,
    /// What is asked.
    pub(super) text: &'static str,
    /// What the answer means, in a sentence.
    pub(super) meaning: &'static str,
}

/// Asks questions.
pub(super) struct Asker<'a> {
    /// Where answers come from, a line each.
    pub(super) input: &'a mut dyn BufRead,
    /// Where questions are printed.
    pub(super) output: &'a mut dyn Write,
    /// Whether a person answers, who can be asked again.
    pub(super) is_terminal: bool,
    /// Whether every question without an option has its default as its answer.
    pub(super) takes_defaults: bool,
}

impl Asker<'_> {
    /// Returns the answer to a question. `read` says what would be right if an answer is wrong.
    pub(super) fn ask<T>(
        &mut self,
        question: &Question,
        given: Option<&str>,
        default: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        let option = question.option;
        let wrong = |mistake: String| Failure::Usage(format!("--{option}: {mistake}"));
        if let Some(answer) = given {
            return read(answer.trim()).map_err(wrong);
        }
        if self.takes_defaults {
            return read(default).map_err(wrong);
        }
        self.print(&format!("\n{}\n", question.meaning))?;
        loop {
            self.print(&format!("{} [{default}]: ", question.text))?;
            let Some(line) = self.line()? else {
                return Err(Failure::Usage(format!(
                    "there is no answer for --{option}: give it, or --yes for all defaults"
                )));
            };
            let answer = line.trim();
            match read(if answer.is_empty() { default } else { answer }) {
                Ok(answer) => return Ok(answer),
                Err(mistake) if self.is_terminal => self.print(&format!("{mistake}\n"))?,
                Err(mistake) => return Err(wrong(mistake)),
            }
        }
    }

    /// Returns the next line, or `None` at the end of the input.
    fn line(&mut self) -> Result<Option<String>, Failure> {
        let mut line = String::new();
        let length = self.input.read_line(&mut line);
        let length = length.map_err(|error| Failure::Failed(format!("cannot read the answers: {error}")))?;
        if length > 0 && !self.is_terminal {
            self.print(&line)?;
        }
        Ok((length > 0).then_some(line))
    }

    fn print(&mut self, text: &str) -> Result<(), Failure> {
        let printed = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
        printed.map_err(|error| Failure::Failed(format!("cannot print the questions: {error}")))
    }
}
