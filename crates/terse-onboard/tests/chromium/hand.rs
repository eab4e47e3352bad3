//! What an operator does with a page, by the mouse or by the keyboard.

use serde_json::{Value, json};

use super::driver::Chromium;
use super::walk::{PAGE, ask};
use crate::deadline::Deadline;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hand {
    Mouse,
    Keyboard,
}

impl Hand {
    /// Follows the link or presses the button with this text, and waits for the page behind it.
    #[track_caller]
    pub(crate) fn follow(self, chromium: &Chromium, text: &str) {
        chromium.run("window.isBefore = true", &json!([]));
        let element = self.reach(chromium, text);
        if self == Self::Keyboard {
            chromium.press(&ENTER.to_string(), 1);
        } else {
            chromium.click(&element);
        }
        // The page goes while it is asked.
        let is_new = "return window.isBefore === undefined && document.readyState === 'complete'";
        let deadline = Deadline::new();
        while chromium.try_run(is_new, &json!([])) != Ok(json!(true)) {
            deadline.check(format_args!("{text:?} leads nowhere"));
            std::thread::yield_now();
        }
    }

    /// Writes into the field with this label, in place of what is there.
    #[track_caller]
    pub(crate) fn write(self, chromium: &Chromium, label: &str, text: &str) {
        let field = self.reach(chromium, label);
        if self == Self::Mouse {
            chromium.clear(&field);
            chromium.click(&field);
        }
        // Tab chooses all that is in a field, so that a key replaces it.
        chromium.press(text, 1);
        assert_eq!(chromium.run("return arguments[0].value", &json!([field])), text, "{label}");
    }

    /// Chooses an option of the field with this label.
    #[track_caller]
    pub(crate) fn choose(self, chromium: &Chromium, label: &str, option: &str) {
        let field = self.reach(chromium, label);
        let find = "const options = [...arguments[0].options];\
                    const wanted = options.find((one) => one.text === arguments[1]);\
                    return [wanted, options.indexOf(wanted) - arguments[0].selectedIndex];";
        let mut found = chromium.run(find, &json!([field, option]));
        let (element, steps) = (found[0].take(), found[1].as_i64().unwrap());
        match self {
            Self::Mouse => chromium.click(&element),
            Self::Keyboard => {
                let key = if steps < 0 { UP } else { DOWN };
                chromium.press(&key.to_string(), usize::try_from(steps.abs()).unwrap());
            }
        }
        let chosen = chromium.run("return arguments[0].selectedOptions[0].text", &json!([field]));
        assert_eq!(chosen, option, "{label}");
    }

    /// Returns what has this text or this label. With the keyboard it gets the focus, by Tab, which can be seen.
    #[track_caller]
    fn reach(self, chromium: &Chromium, text: &str) -> Value {
        let mut found = chromium.run(PAGE, &json!(["find", text]));
        let (element, place, focus) = (found[0].take(), found[1].as_i64().unwrap(), found[2].as_i64().unwrap());
        assert!(!element.is_null(), "{text:?} is not in {}", chromium.text());
        if self == Self::Keyboard {
            let steps = usize::try_from(place.abs_diff(focus)).unwrap();
            match place < focus {
                true => chromium.press_with(SHIFT, TAB, steps),
                false => chromium.press(&TAB.to_string(), steps),
            }
            let is_there = chromium.run("return document.activeElement === arguments[0]", &json!([element]));
            assert_eq!(is_there, true, "Tab does not lead to {text:?}");
            assert_eq!(ask(chromium, &["focus"]), Vec::<String>::new());
        }
        element
    }
}

/// The keys of WebDriver (W3C WebDriver, 17.4.2).
pub(crate) const TAB: char = '\u{e004}';
const ENTER: char = '\u{e007}';
const SHIFT: char = '\u{e008}';
const UP: char = '\u{e013}';
const DOWN: char = '\u{e015}';
