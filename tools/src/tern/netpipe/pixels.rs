//! A canvas of pixels that plotters draws on. Its letters are rasterised beforehand, so that no font need be installed.

use std::convert::Infallible;

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontTransform,
};

/// Text above this height gets the larger letters.
const SMALL_TEXT: f64 = 16.0;

/// Red, green, blue, from the upper left corner.
pub struct Pixels {
    size: (u32, u32),
    bytes: Vec<u8>,
}

impl Pixels {
    /// All white.
    pub fn new(size: (u32, u32)) -> Pixels {
        Pixels { size, bytes: vec![0xff; size.0 as usize * size.1 as usize * 3] }
    }

    /// As a file.
    pub fn png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.size.0, self.size.1);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.bytes)?;
        writer.finish()?;
        Ok(file)
    }

    /// Mixes a color into a pixel; what lies outside is left out.
    fn mix(&mut self, (x, y): BackendCoord, (r, g, b): (u8, u8, u8), part: f64) {
        let inside = |at: i32, size: u32| u32::try_from(at).ok().filter(|at| *at < size);
        let (Some(x), Some(y)) = (inside(x, self.size.0), inside(y, self.size.1)) else { return };
        let at = (y as usize * self.size.0 as usize + x as usize) * 3;
        for (byte, wanted) in self.bytes[at..at + 3].iter_mut().zip([r, g, b]) {
            *byte = (f64::from(*byte) + part * (f64::from(wanted) - f64::from(*byte))).round() as u8;
        }
    }
}

/// Letters of one height.
#[derive(Clone, Copy)]
struct Letters(RasterHeight);

impl Letters {
    fn of(height: f64) -> Letters {
        Letters(if height > SMALL_TEXT { RasterHeight::Size20 } else { RasterHeight::Size16 })
    }

    /// Width and height of a text.
    fn extent(self, text: &str) -> (i32, i32) {
        let width = get_raster_width(FontWeight::Regular, self.0) * text.chars().count();
        (width as i32, self.0.val() as i32)
    }

    /// All pixels of a text that have some ink, with how much.
    fn ink(self, text: &str) -> Vec<(BackendCoord, u8)> {
        let width = get_raster_width(FontWeight::Regular, self.0) as i32;
        let mut all = Vec::new();
        for (place, letter) in (0..).zip(text.chars()) {
            let shape = get_raster(letter, FontWeight::Regular, self.0);
            let Some(shape) = shape.or_else(|| get_raster('?', FontWeight::Regular, self.0)) else {
                continue;
            };
            for (y, row) in (0..).zip(shape.rows()) {
                let inked = (0..).zip(row).filter(|(_, ink)| **ink > 0);
                all.extend(inked.map(|(x, ink)| ((place * width + x, y), *ink)));
            }
        }
        all
    }
}

/// Where the upper left corner of a text lies, seen from its anchor.
fn corner((width, height): (i32, i32), across: HPos, down: VPos) -> (i32, i32) {
    let x = match across {
        HPos::Left => 0,
        HPos::Center => -width / 2,
        HPos::Right => -width,
    };
    let y = match down {
        VPos::Top => 0,
        VPos::Center => -height / 2,
        VPos::Bottom => -height,
    };
    (x, y)
}

fn turned(turn: &FontTransform, (x, y): (i32, i32)) -> (i32, i32) {
    match turn {
        FontTransform::None => (x, y),
        FontTransform::Rotate90 => (-y, x),
        FontTransform::Rotate180 => (-x, -y),
        FontTransform::Rotate270 => (y, -x),
    }
}

impl DrawingBackend for &mut Pixels {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn draw_pixel(
        &mut self,
        point: BackendCoord,
        color: BackendColor,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        self.mix(point, color.rgb, color.alpha);
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let (letters, color, turn) = (Letters::of(style.size()), style.color(), style.transform());
        let anchor = style.anchor();
        let (left, top) = corner(letters.extent(text), anchor.h_pos, anchor.v_pos);
        for ((across, down), ink) in letters.ink(text) {
            let (dx, dy) = turned(&turn, (left + across, top + down));
            self.mix((x + dx, y + dy), color.rgb, color.alpha * f64::from(ink) / 255.0);
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let (width, height) = Letters::of(style.size()).extent(text);
        Ok((width as u32, height as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_outside_is_left_out() {
        let mut pixels = Pixels::new((2, 2));
        for place in [(-1, 0), (0, -1), (2, 0), (0, 2), (i32::MAX, i32::MAX)] {
            pixels.mix(place, (0, 0, 0), 1.0);
        }
        assert!(pixels.bytes.iter().all(|byte| *byte == 0xff));
        pixels.mix((1, 0), (0, 100, 255), 0.5);
        assert_eq!(pixels.bytes[3..6], [128, 178, 255]);
    }

    #[test]
    fn letters_have_ink_and_turn() {
        let letters = Letters::of(14.0);
        let (width, height) = letters.extent("ab");
        let ink = letters.ink("ab");
        assert!(!ink.is_empty() && letters.ink(" ").is_empty());
        assert!(ink.iter().all(|((x, y), _)| (0..width).contains(x) && (0..height).contains(y)));
        assert_eq!(corner((10, 4), HPos::Right, VPos::Center), (-10, -2));
        // Text that runs upwards: its right end is above its left one.
        assert_eq!(turned(&FontTransform::Rotate270, (5, 0)), (0, -5));
    }
}
