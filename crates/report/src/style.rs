//! How text is shown: decided by the caller, who knows the terminal.

/// How wide, and whether in colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns that a line may have.
    pub width: u16,
    /// Colour and bold are welcome.
    pub colour: bool,
}

impl Style {
    /// No colour, 100 columns: what a file or pipe gets.
    pub const PLAIN: Self = Self { width: 100, colour: false };

    /// For a terminal with this many columns, where `NO_COLOR` may be set.
    pub const fn terminal(width: u16, no_color: bool) -> Self {
        Self { width, colour: !no_color }
    }

    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        match self.colour {
            true => format!("\x1b[{}m{text}\x1b[0m", paint as u8),
            false => text.to_owned(),
        }
    }
}

/// What a colour says, as the terminal's number for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paint {
    Bold = 1,
    Bad = 31,
    Good = 32,
    Doubtful = 33,
}
