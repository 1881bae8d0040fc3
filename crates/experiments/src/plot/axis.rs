//! The frame of a panel: scales, ticks, grid and titles.

use super::{HEIGHT, WIDTH, escaped};
use core::fmt::Write as _;

/// Most letters of a slanted name.
const SLANTED: usize = 11;

/// The positions of values along an axis.
#[derive(Clone, Debug)]
pub(super) enum Scale {
    /// Linear from the first to the second number.
    Linear(f64, f64),
    /// Logarithmic from the first to the second number.
    Log(f64, f64),
    /// One position for each name.
    Names(Vec<String>),
}

impl Scale {
    /// A scale for all of `values`. It begins at zero, or at the smallest value if that is negative.
    pub(super) fn of(values: &[f64]) -> Self {
        let low = values.iter().copied().fold(0.0, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        let high = if high > low { high } else { low + 1.0 };
        let step = step(high - low);
        Scale::Linear(libm::floor(low / step + 1e-9) * step, libm::ceil(high / step - 1e-9) * step)
    }

    /// A scale for the numbers of a parameter; `None` if there are fewer than two.
    pub(super) fn numbers(ticks: &[(f64, String)], log: bool) -> Option<Self> {
        let [(low, _), .., (high, _)] = ticks else { return None };
        Some(if log && *low > 0.0 { Scale::Log(*low, *high) } else { Scale::Linear(*low, *high) })
    }

    /// Letters of the longest name.
    fn longest(&self) -> usize {
        match self {
            Scale::Names(names) => names.iter().map(|name| name.chars().count()).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Position of a value, between 0 and 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self {
            Scale::Linear(low, high) => (value - low) / (high - low),
            Scale::Log(low, high) => libm::log(value / low) / libm::log(high / low),
            Scale::Names(names) => (value + 0.5) / names.len() as f64,
        }
    }

    /// Positions and labels of the ticks. `parameter` has the numbers of a parameter in ascending order, with their labels.
    fn ticks(&self, parameter: Option<&[(f64, String)]>) -> Vec<(f64, String)> {
        match (self, parameter) {
            (Scale::Names(names), _) => {
                names.iter().enumerate().map(|(i, name)| (self.place(i as f64), name.clone())).collect()
            }
            // A parameter's own values, as many of them as have room.
            (_, Some(values)) => {
                let mut ticks: Vec<(f64, String)> = Vec::new();
                for (value, label) in values {
                    let place = self.place(*value);
                    let room = 0.025 + 0.012 * label.len() as f64;
                    if ticks.last().is_none_or(|(last, word)| place - last > room + 0.012 * word.len() as f64) {
                        ticks.push((place, label.clone()));
                    }
                }
                ticks
            }
            (Scale::Linear(low, high) | Scale::Log(low, high), None) => {
                let step = step(high - low);
                let count = libm::round((high - low) / step) as usize;
                let at = |i: usize| low + step * i as f64;
                (0..=count).map(|i| (self.place(at(i)), number(at(i)))).collect()
            }
        }
    }
}

/// A step of 1, 2 or 5 times a power of ten that gives about five ticks.
fn step(range: f64) -> f64 {
    let raw = range / 5.0;
    let power = libm::pow(10.0, libm::floor(libm::log10(raw)));
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw * 0.999).unwrap_or(raw)
}

/// A number without the rounding error of its binary fraction.
fn number(x: f64) -> String {
    let x = libm::round(x * 1e6) / 1e6;
    if x == 0.0 { "0".into() } else { x.to_string() }
}

/// The rectangle in which values are drawn, with its scales.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) x: Scale,
    pub(super) y: Scale,
}

impl Frame {
    pub(super) const LEFT: f64 = 50.0;
    const RIGHT: f64 = 18.0;
    const TOP: f64 = 10.0;
    const BOTTOM: f64 = 44.0;

    pub(super) fn x(&self, value: f64) -> f64 {
        Self::LEFT + (WIDTH - Self::LEFT - Self::RIGHT) * self.x.place(value)
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        HEIGHT - Self::BOTTOM - (HEIGHT - Self::TOP - Self::BOTTOM) * self.y.place(value)
    }

    /// Width of the position of one name.
    pub(super) fn slot(&self) -> f64 {
        match &self.x {
            Scale::Names(names) => (WIDTH - Self::LEFT - Self::RIGHT) / names.len().max(1) as f64,
            _ => 0.0,
        }
    }

    /// Draws grid, ticks and titles. `values` are the numbers of the parameter on the horizontal axis, ascending.
    pub(super) fn draw(&self, x_title: &str, y_title: &str, values: Option<&[(f64, String)]>) -> String {
        let (right, bottom) = (WIDTH - Self::RIGHT, HEIGHT - Self::BOTTOM);
        let mut out = String::new();
        for (place, word) in self.y.ticks(None) {
            let y = bottom - (bottom - Self::TOP) * place;
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{:.1} {y:.1}H{right:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{word}</text>",
                Self::LEFT,
                Self::LEFT - 6.0,
                y + 4.0
            );
        }
        let names = matches!(self.x, Scale::Names(_));
        let room = (self.slot() / 6.8) as usize;
        // Without a title there is room for slanted names.
        let slanted = names && x_title.is_empty() && self.x.longest() > room;
        for (place, word) in self.x.ticks(values) {
            let x = Self::LEFT + (right - Self::LEFT) * place;
            let most = if slanted { SLANTED } else { room.max(4) };
            let word: String = match names && word.chars().count() > most {
                true => word.chars().take(most - 1).chain(['…']).collect(),
                false => word,
            };
            let place = match slanted {
                true => format!(
                    "class=\"slanted\" transform=\"translate({:.1} {:.1}) rotate(-30)\" text-anchor=\"end\"",
                    x + 4.0,
                    bottom + 13.0
                ),
                false => format!("x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\"", bottom + 17.0),
            };
            let _ = writeln!(
                out,
                "<path class=\"axis\" d=\"M{x:.1} {bottom:.1}v4\"/><text {place}>{}</text>",
                escaped(&word)
            );
        }
        let zero = self.y(0.0).clamp(Self::TOP, bottom);
        let _ = writeln!(
            out,
            "<path class=\"axis\" d=\"M{:.1} {zero:.1}H{right:.1}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(12 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            Self::LEFT,
            (Self::LEFT + right) / 2.0,
            HEIGHT - 8.0,
            escaped(x_title),
            (Self::TOP + bottom) / 2.0,
            escaped(y_title)
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_hold_all_values() {
        for values in [vec![0.0, 7.64], vec![-0.53, 0.2], vec![3.0], vec![0.0]] {
            let scale = Scale::of(&values);
            assert!(values.iter().all(|v| (0.0..=1.0).contains(&scale.place(*v))), "{values:?} in {scale:?}");
        }
        let Scale::Linear(low, high) = Scale::of(&[-0.53, 0.2]) else { panic!("it is linear") };
        assert!(low <= -0.53 && high >= 0.2);
    }

    #[test]
    fn numbers_have_their_places_and_one_number_has_no_scale() {
        let ticks = |numbers: &[f64]| numbers.iter().map(|x| (*x, x.to_string())).collect::<Vec<_>>();
        assert!(Scale::numbers(&ticks(&[10.0]), false).is_none());
        let log = Scale::numbers(&ticks(&[10.0, 100.0, 1000.0]), true).expect("three numbers");
        assert!((log.place(100.0) - 0.5).abs() < 1e-12);
    }
}
