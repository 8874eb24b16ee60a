//! Draws time against ranks.

use super::series::{SeriesPoint, name};
use super::units;
use crate::output;
use plotters::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

const SIZE: (u32, u32) = (900, 560);

/// What a line takes in the picture's key, and what is above it.
const KEY_LINE: u32 = 16;
const KEY_MARGIN: u32 = 48;
/// Of a line of the key: its stroke, and a letter of its text.
const KEY_STROKE: u32 = 24;
const KEY_LETTER: u32 = 7;

/// One line for each collective, algorithm and size.
type PlotLines = BTreeMap<String, Vec<(f64, f64)>>;

/// Draws all points into a file.
pub(super) fn draw(points: &[SeriesPoint], file: &Path) -> Result<(), String> {
    let mut text = String::new();
    picture(&mut text, &lines(points)).map_err(|error| format!("cannot draw: {error}"))?;
    output::write(file, &text)
}

fn lines(points: &[SeriesPoint]) -> PlotLines {
    let mut lines = PlotLines::new();
    for point in points {
        let label =
            format!("{} {} {} B", name(point.job.work), point.algorithm, units::count(point.job.bytes));
        lines.entry(label).or_default().push((f64::from(point.job.ranks), point.time_ns().max(1.0)));
    }
    lines
}

/// Both axes are logarithmic: ranks by powers of two, times by powers of ten.
fn picture(text: &mut String, lines: &PlotLines) -> Result<(), Box<dyn std::error::Error>> {
    let all = || lines.values().flatten();
    let span = |of: fn(&(f64, f64)) -> f64| {
        let (low, high) =
            all().map(of).fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
        (low / 1.2)..(high.max(low) * 1.2)
    };
    if lines.is_empty() {
        return Err("there is nothing to draw".into());
    }
    let longest = lines.keys().map(|label| label.chars().count()).max().unwrap_or(0) as u32;
    let width = SIZE.0 + KEY_STROKE + KEY_LETTER * longest + KEY_LINE;
    let height = SIZE.1.max(2 * KEY_MARGIN + KEY_LINE * lines.len() as u32);
    let area = SVGBackend::with_string(text, (width, height)).into_drawing_area();
    area.fill(&WHITE)?;
    // Beside the chart, where it covers no point.
    let (left, right) = area.split_horizontally(SIZE.0);
    let mut chart = ChartBuilder::on(&left)
        .caption("predicted time of a call", ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(80)
        .build_cartesian_2d(span(|point| point.0).log_scale().base(2.0), span(|point| point.1).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("ranks")
        .x_label_formatter(&|ranks| units::count(ranks.round() as u64))
        .y_label_formatter(&|ns| units::time(*ns))
        .draw()?;
    for (index, (label, points)) in lines.iter().enumerate() {
        let color = Palette99::pick(index).to_rgba();
        let series = LineSeries::new(points.iter().copied(), color.stroke_width(2)).point_size(3);
        chart.draw_series(series)?;
        let y = (KEY_MARGIN + KEY_LINE * index as u32) as i32;
        let stroke = [(0, y), (KEY_STROKE as i32 - 6, y)];
        right.draw(&PathElement::new(stroke, color.stroke_width(2)))?;
        right.draw(&Text::new(label.as_str(), (KEY_STROKE as i32, y - 6), ("sans-serif", 12)))?;
    }
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_as_high_as_its_key() {
        let lines = (0..60).map(|line| (format!("line {line}"), vec![(2.0, 10.0), (4.0, 20.0)])).collect();
        let mut text = String::new();
        picture(&mut text, &lines).unwrap();
        let number = |text: &str, name: &str| -> Option<u32> {
            text.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0.parse().ok()
        };
        let height = number(&text, "height").unwrap();
        let lowest = text.split("<text").skip(1).filter_map(|text| number(text, "y")).max().unwrap();
        assert!(lowest < height, "{lowest} of {height}");
    }

    #[test]
    fn a_picture_has_all_lines() {
        let points = vec![(2.0, 1000.0), (1024.0, 50_000.0)];
        let lines = PlotLines::from([
            ("bcast binomial 8 B".into(), points.clone()),
            ("bcast chain 8 B".into(), points),
        ]);
        let mut text = String::new();
        picture(&mut text, &lines).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        for word in ["bcast binomial 8 B", "bcast chain 8 B", "ranks", "1k", "10.0 us"] {
            assert!(text.contains(word), "{word} is missing in {text}");
        }
        assert!(picture(&mut String::new(), &PlotLines::new()).is_err());
    }
}
