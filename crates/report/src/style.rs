//! How text is shown. The caller decides that, because it knows the terminal.

/// The width, and whether to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The maximum number of columns in a line.
    pub width: u16,
    /// Whether colour and bold are allowed.
    pub colour: bool,
}

impl Style {
    /// No colour, 100 columns: the style for files and pipes.
    pub const PLAIN: Self = Self { width: 100, colour: false };

    /// Returns the style for a terminal with this many columns. `no_color` is whether `NO_COLOR` is set.
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

/// The meaning of a colour, with the terminal's number for the colour.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paint {
    Bold = 1,
    Bad = 31,
    Good = 32,
    Doubtful = 33,
}
