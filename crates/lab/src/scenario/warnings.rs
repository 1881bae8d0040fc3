//! Warnings about a scenario that is allowed but hardly intended.

use super::data::{Direction, Scenario};
use super::link::{Link, Rate};

impl Scenario {
    /// Sentences about settings that have no effect, and about data that no rate limits.
    pub fn warnings(&self) -> Vec<String> {
        let late = self.links.chunks(2).filter_map(|both| self.late_changes(both));
        late.chain(self.late_starts()).chain(self.unlimited_data()).collect()
    }

    /// Connections that start at the run's end or later.
    fn late_starts(&self) -> impl Iterator<Item = String> + '_ {
        let late = self.connections.iter().filter(|c| c.start >= self.duration);
        late.map(|c| {
            format!("{} starts at {}, but the run ends at {}: it sends nothing", c.name, c.start, self.duration)
        })
    }

    /// A warning about changes of a link at the run's end or later.
    fn late_changes(&self, both: &[Link]) -> Option<String> {
        let times = both.iter().flat_map(|link| link.changes.iter().map(|change| change.at));
        let first = times.filter(|at| *at >= self.duration).min()?;
        let end = self.duration;
        Some(format!(
            "{} changes at {first}, but the run ends at {end}: what changes from then on has no effect",
            both[0].base_name()
        ))
    }

    /// Warnings about measured connections that send data over a direction without a rate.
    fn unlimited_data(&self) -> Vec<String> {
        let mut all = Vec::new();
        for connection in self.connections.iter().filter(|c| c.measured) {
            let (word, key) = match connection.direction {
                Direction::Upload => ("to the server", "up"),
                Direction::Download => ("to the client", "down"),
            };
            for path in connection.paths.iter().map(|i| &self.paths[*i]) {
                let links = if connection.direction == Direction::Upload { &path.up } else { &path.down };
                if links.iter().any(|i| self.links[*i].has_rate()) {
                    continue;
                }
                let text = format!(
                    "the data goes {word}, and no rate limits {} that way (--set path.{}.{key}.rate=10Mbps gives it one)",
                    path.name, path.name
                );
                if !all.contains(&text) {
                    all.push(text);
                }
            }
        }
        all
    }
}

impl Link {
    /// Whether the link's rate is limited at any time.
    pub fn has_rate(&self) -> bool {
        self.rates().any(|rate| *rate != Rate::Unlimited)
    }

    /// The link's name without the direction.
    pub fn base_name(&self) -> &str {
        self.name.rsplit_once('.').map_or(self.name.as_str(), |(base, _)| base)
    }
}
