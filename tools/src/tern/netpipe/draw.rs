//! Draws charts, as vectors and as pixels.

use std::error::Error;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;

use super::pixels::Pixels;
use super::section::{Chart, Trace, Unit};
use super::words::{size, time};

/// Width and height of a picture.
const SIZE: (u32, u32) = (960, 540);

/// What systems are drawn in, here and by `make bench`.
const COLOURS: &[(&str, RGBColor)] = &[
    ("tern", RGBColor(0xd1, 0x49, 0x5b)),
    ("mpich", RGBColor(0x2e, 0x6f, 0x95)),
    ("openmpi", RGBColor(0xed, 0xae, 0x49)),
    ("intel", RGBColor(0x66, 0xa1, 0x82)),
    ("raw", RGBColor(0x5b, 0x63, 0x70)),
    ("raw-blocking", RGBColor(0xa9, 0xb1, 0xbb)),
];

/// A chart as SVG.
pub(super) fn svg(chart: &Chart) -> Result<String, String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
    picture(&area, chart).map_err(|error| complaint(chart, &*error))?;
    drop(area);
    Ok(text)
}

/// A chart as PNG.
pub(super) fn png(chart: &Chart) -> Result<Vec<u8>, String> {
    let mut pixels = Pixels::new(SIZE);
    picture(&(&mut pixels).into_drawing_area(), chart).map_err(|error| complaint(chart, &*error))?;
    pixels.png().map_err(|error| complaint(chart, &error))
}

fn complaint(chart: &Chart, error: &dyn Error) -> String {
    format!("cannot draw '{}': {error}", chart.title)
}

/// What other lines are drawn in, one after the other: they stand out from white and from each other.
const OTHERS: &[RGBColor] = &[
    RGBColor(0xd1, 0x49, 0x5b),
    RGBColor(0x2e, 0x6f, 0x95),
    RGBColor(0xed, 0xae, 0x49),
    RGBColor(0x66, 0xa1, 0x82),
    RGBColor(0x7b, 0x4f, 0xa6),
    RGBColor(0xc4, 0x6a, 0x2d),
    RGBColor(0x2a, 0xa1, 0xa8),
    RGBColor(0x8a, 0x8d, 0x2f),
];

type Drawn = Result<(), Box<dyn Error>>;

fn picture<DB: DrawingBackend>(area: &DrawingArea<DB, Shift>, chart: &Chart) -> Drawn
where
    DB::ErrorType: 'static,
{
    area.fill(&WHITE)?;
    let mut builder = ChartBuilder::on(area);
    builder.caption(&chart.title, ("sans-serif", 18)).margin(12).x_label_area_size(44).y_label_area_size(90);
    let (x, y) = (span(chart, |point| point.0, chart.axes.0), span(chart, |point| point.1, chart.axes.1));
    let x = x.log_scale().base(base(chart.axes.0));
    if y.start == 0.0 {
        lines(&mut builder.build_cartesian_2d(x, y)?, chart)?;
    } else {
        lines(&mut builder.build_cartesian_2d(x, y.log_scale().base(base(chart.axes.1)))?, chart)?;
    }
    area.present()?;
    Ok(())
}

fn lines<'a, DB, X, Y>(context: &mut ChartContext<'a, DB, Cartesian2d<X, Y>>, chart: &Chart) -> Drawn
where
    DB: DrawingBackend + 'a,
    DB::ErrorType: 'static,
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let small = ("sans-serif", 14);
    context
        .configure_mesh()
        .x_desc(heading(chart.axes.0))
        .y_desc(heading(chart.axes.1))
        .x_labels(14)
        .y_labels(10)
        .label_style(small)
        .axis_desc_style(small)
        .light_line_style(RGBColor(0xf2, 0xf4, 0xf6))
        .bold_line_style(RGBColor(0xdd, 0xe1, 0xe6))
        .x_label_formatter(&|value| label(chart.axes.0, *value))
        .y_label_formatter(&|value| label(chart.axes.1, *value))
        .draw()?;
    for (index, line) in chart.lines.iter().enumerate() {
        let style = color(chart, line, index).stroke_width(if line.system == "tern" { 3 } else { 2 });
        let series = LineSeries::new(line.points.iter().copied(), style);
        let key = move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style);
        // The frame of the labels is drawn a little too narrow for letters of one width.
        context.draw_series(series)?.label(format!("{}  ", line.label)).legend(key);
    }
    let place = if chart.axes.1 == Unit::Mbps {
        SeriesLabelPosition::UpperLeft
    } else {
        SeriesLabelPosition::LowerRight
    };
    context
        .configure_series_labels()
        .position(place)
        .label_font(small)
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(0xdd, 0xe1, 0xe6))
        .draw()?;
    Ok(())
}

/// Times that lie this close together are drawn from 0: a logarithm would show little of them but one power of ten.
const NARROW: f64 = 10.0;

/// The range of an axis; of megabits, which have no logarithm here, from 0.
fn span(chart: &Chart, of: fn(&(f64, f64)) -> f64, unit: Unit) -> Range<f64> {
    let values = chart.lines.iter().flat_map(|line| &line.points).map(of);
    let (low, high) = values.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), x| (low.min(x), high.max(x)));
    match unit {
        Unit::Mbps => 0.0..high * 1.06,
        Unit::Bytes | Unit::Hosts => low.min(high) / 1.1..high * 1.1,
        Unit::Seconds if low < high && high < NARROW * low => 0.0..high * 1.1,
        Unit::Seconds => low.min(high) / 1.3..high * 1.3,
    }
}

fn base(unit: Unit) -> f64 {
    if matches!(unit, Unit::Bytes | Unit::Hosts) { 2.0 } else { 10.0 }
}

fn heading(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "bytes of a message",
        Unit::Seconds => "time",
        Unit::Mbps => "Mbps",
        Unit::Hosts => "hosts",
    }
}

fn label(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Bytes => size(value.round() as u64),
        Unit::Seconds => time(value),
        Unit::Mbps | Unit::Hosts => format!("{value:.0}"),
    }
}

/// A system's color where it has one line, and else colors that differ.
fn color(chart: &Chart, line: &Trace, index: usize) -> RGBColor {
    let is_alone = chart.lines.iter().filter(|other| other.system == line.system).count() == 1;
    if let Some((_, color)) = COLOURS.iter().find(|(name, _)| is_alone && *name == line.system) {
        return *color;
    }
    let is_there = |system: &str| is_alone && chart.lines.iter().any(|line| line.system == system);
    let is_taken = |color: &RGBColor| COLOURS.iter().any(|(name, taken)| is_there(name) && taken == color);
    let free: Vec<RGBColor> = OTHERS.iter().filter(|color| !is_taken(color)).copied().collect();
    free[index % free.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(axes: (Unit, Unit)) -> Chart {
        let line = |system: &str, factor: f64| Trace {
            label: format!("line of {system}"),
            system: system.into(),
            points: vec![(1.0, factor), (1024.0, 50.0 * factor), (65536.0, 90.0 * factor)],
        };
        let lines = vec![line("tern", 1.0), line("raw", 0.9)];
        Chart { file: "f".into(), title: "a title".into(), axes, lines }
    }

    #[test]
    fn a_picture_has_title_lines_and_axes() {
        let text = svg(&chart((Unit::Bytes, Unit::Mbps))).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        for word in ["a title", "line of tern", "line of raw", "Mbps", "bytes of a message", "64k", "#D1495B"]
        {
            assert!(text.contains(word), "{word} is missing in {text}");
        }
        let text = svg(&chart((Unit::Bytes, Unit::Seconds))).unwrap();
        assert!(text.contains("10.0 s"), "a power of ten is missing in {text}");
    }

    #[test]
    fn times_that_lie_close_together_are_drawn_from_nothing() {
        let mut near = chart((Unit::Hosts, Unit::Seconds));
        near.lines
            .iter_mut()
            .flat_map(|line| &mut line.points)
            .for_each(|point| point.1 = 1.0 + point.1 / 50.0);
        let text = svg(&near).unwrap();
        assert!(text.contains("1.00 s") && !text.contains("10.0 s"), "{text}");
    }

    #[test]
    fn the_same_picture_has_pixels() {
        for axes in [(Unit::Bytes, Unit::Mbps), (Unit::Seconds, Unit::Mbps), (Unit::Hosts, Unit::Seconds)] {
            let image = png(&chart(axes)).unwrap();
            assert_eq!(image[..8], [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n']);
        }
    }

    #[test]
    fn a_chart_of_one_point_or_none_can_be_drawn() {
        let mut one = chart((Unit::Hosts, Unit::Seconds));
        one.lines.truncate(1);
        one.lines[0].points.truncate(1);
        assert!(svg(&one).is_ok());
        one.lines.clear();
        assert!(svg(&one).is_ok() && png(&one).is_ok());
    }
}
