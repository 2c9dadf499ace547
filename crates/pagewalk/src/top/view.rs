//! The view: a head, a line for each guest, then exits by cause and the costliest functions of the guest that is chosen.

use super::sample::{GuestInterval, Interval, ratio};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Row, Table};

/// What the view shows beside counters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shown {
    /// The guest whose exits and functions are shown.
    pub(super) chosen: usize,
    /// The machine was paused from here.
    pub(super) paused: bool,
}

/// Draws an interval; `None` before the first one has ended.
pub(super) fn draw(frame: &mut Frame<'_>, interval: Option<&Interval>, shown: Shown) {
    let Some(interval) = interval else {
        frame.render_widget(Paragraph::new("waiting for the first interval"), frame.area());
        return;
    };
    let guests = u16::try_from(interval.guests.len()).unwrap_or(u16::MAX).saturating_add(3);
    let heights = [Constraint::Length(1), Constraint::Max(guests), Constraint::Min(3), Constraint::Length(1)];
    let [head, table, below, foot] = Layout::vertical(heights).areas(frame.area());
    frame.render_widget(Paragraph::new(headline(interval, shown)), head);
    frame.render_widget(guest_table(interval, shown), table);
    if let Some(guest) = interval.guests.get(shown.chosen) {
        draw_guest(frame, below, interval, guest);
    }
    frame.render_widget(Paragraph::new("q: end   p: pause and go on   tab: next guest"), foot);
}

fn headline(interval: &Interval, shown: Shown) -> Line<'static> {
    let instructions: u64 = interval.guests.iter().map(|guest| guest.instructions).sum();
    let speed = if interval.host_s > 0.0 { instructions as f64 / interval.host_s / 1e6 } else { 0.0 };
    let state = if shown.paused { "paused" } else { "running" };
    let rest = format!(
        "  {:.6} s simulated, {:.6} s in this interval, {speed:.0} M instructions a second of the host",
        interval.at_s, interval.simulated_s
    );
    Line::from(vec![Span::styled(state, Style::new().add_modifier(Modifier::BOLD)), Span::raw(rest)])
}

fn guest_table(interval: &Interval, shown: Shown) -> Table<'static> {
    let head =
        ["guest", "M instr", "IPC", "L1 misses/k", "L2 misses/k", "refs/walk", "translation", "hypervisor", "exits/s"];
    let row = |(number, guest): (usize, &GuestInterval)| {
        let exits: u64 = guest.exits.iter().map(|(_, count)| count).sum();
        let cells = [
            guest.name.clone(),
            format!("{:.1}", guest.instructions as f64 / 1e6),
            format!("{:.2}", guest.ipc()),
            format!("{:.2}", guest.per_thousand(guest.l1_misses)),
            format!("{:.2}", guest.per_thousand(guest.l2_misses)),
            format!("{:.2}", ratio(guest.references, guest.walks)),
            format!("{:.1} %", guest.share(guest.translation)),
            format!("{:.1} %", guest.share(guest.hypervisor)),
            format!("{:.0}", per_second(exits, interval)),
        ];
        let chosen = number == shown.chosen;
        Row::new(cells).style(if chosen { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() })
    };
    let widths = [Constraint::Fill(1)].into_iter().chain([7, 5, 11, 11, 9, 11, 10, 9].map(Constraint::Length));
    Table::new(interval.guests.iter().enumerate().map(row), widths)
        .header(Row::new(head).style(Style::new().add_modifier(Modifier::BOLD)))
        .block(Block::bordered().title("guests"))
}

fn draw_guest(frame: &mut Frame<'_>, area: Rect, interval: &Interval, guest: &GuestInterval) {
    let [left, right] = Layout::horizontal([Constraint::Percentage(35), Constraint::Percentage(65)]).areas(area);
    let exits = guest
        .exits
        .iter()
        .map(|(cause, count)| Row::new([cause.clone(), format!("{:.0}", per_second(*count, interval))]));
    let exits = Table::new(exits, [Constraint::Fill(1), Constraint::Length(12)])
        .block(Block::bordered().title("exits a simulated second"));
    frame.render_widget(exits, left);
    let block = Block::bordered().title("functions by translation and hypervisor, of the guest's time");
    match &guest.functions {
        Some(functions) => {
            let rows = functions.iter().map(|(function, process, cycles)| {
                Row::new([function.clone(), process.clone(), format!("{:.1} %", guest.share(*cycles))])
            });
            let widths = [Constraint::Fill(2), Constraint::Fill(1), Constraint::Length(8)];
            frame.render_widget(Table::new(rows, widths).block(block), right);
        }
        None => frame.render_widget(Paragraph::new("a run with --profile has them").block(block), right),
    }
}

fn per_second(count: u64, interval: &Interval) -> f64 {
    if interval.simulated_s > 0.0 { count as f64 / interval.simulated_s } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::sample::tests::sample;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn drawn(interval: Option<&Interval>, shown: Shown) -> String {
        let mut terminal = Terminal::new(TestBackend::new(100, 16)).unwrap();
        terminal.draw(|frame| draw(frame, interval, shown)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn the_view_shows_rates_exits_and_functions() {
        let text = drawn(Some(&sample(5).since(&sample(3))), Shown::default());
        for part in ["running", "5.000000 s simulated", "one", "0.50", "80.00", "40.00", "5.00", "30.0 %", "10.0 %"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let lines: Vec<&str> = text.lines().collect();
        let line = |part: &str| lines.iter().position(|line| line.contains(part)).expect(part);
        assert!(line("wfi") < line("mmio"), "the most frequent exit is first: {text}");
        assert!(line("update") < line("memcpy"), "{text}");
    }

    #[test]
    fn a_view_without_an_interval_or_a_guest_is_drawn() {
        assert!(drawn(None, Shown::default()).contains("waiting"));
        let text = drawn(Some(&sample(3).since(&sample(3))), Shown { chosen: 9, paused: true });
        assert!(text.contains("paused"), "{text}");
    }
}
