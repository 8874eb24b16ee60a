//! Views (MPI 5.0 section 14.3).

use super::agreement::{agree, once};
use super::datarep::Representation;
use super::facts::FileFacts;
use super::info::ChangedHints;
use super::manage::{comm, compared, facts};
use super::object::FileView;
use crate::core::boundary::{Out, OutText};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;
use crate::env::hints::Info;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tern_abi::*;
use tern_io::{BadView, View};
use tern_mem::Datatype;

entry! {
    /// Sets this rank's view of a file; all call. Pointers go to its beginning.
    safe fn MPI_File_set_view(
        fh: MPI_File, disp: MPI_Offset, etype: MPI_Datatype, filetype: MPI_Datatype, datarep: Result<Cow<'_, str>>,
        info: MPI_Info,
    ) on fh {
        let facts = facts(fh)?;
        let wanted = ViewArguments::new(&facts, disp, (etype, filetype), datarep, info);
        let wanted = compared("MPI_File_set_view", comm(fh)?, wanted)?;
        set(fh, &facts, wanted)
    }

    /// This process's view of a file. Derived datatypes are new, and the program's to free.
    safe fn MPI_File_get_view(
        fh: MPI_File, disp: Out<'_, MPI_Offset>, etype: Out<'_, MPI_Datatype>, filetype: Out<'_, MPI_Datatype>,
        datarep: OutText<'_>,
    ) on fh {
        let mut process = enter();
        let view = process.file(fh)?.view.clone();
        disp.set(view.view.disp() as MPI_Offset);
        etype.set(process.objects.types.handle_of(&view.etype)?);
        filetype.set(process.objects.types.handle_of(&view.filetype)?);
        datarep.store(view.representation.name(), MPI_MAX_DATAREP_STRING as usize);
        Ok(())
    }

    /// Where an offset of the view is in the file.
    safe fn MPI_File_get_byte_offset(fh: MPI_File, offset: MPI_Offset, disp: Out<'_, MPI_Offset>) on fh {
        let process = enter();
        let file = process.file(fh)?;
        file.facts.expect_places()?;
        let position = u64::try_from(offset)
            .map_err(|_| fail(MPI_ERR_ARG, format!("offset is {offset}, but must not be negative")))?;
        let view = &file.view.view;
        let stream = position.checked_mul(view.etype_bytes());
        let stream = stream.filter(|stream| (view.is_empty() && *stream == 0) || view.reaches(stream + 1));
        let stream = stream.ok_or_else(|| {
            fail(MPI_ERR_ARG, format!("offset {offset} lies beyond the largest file"))
        })?;
        disp.set(view.offset_of(stream) as MPI_Offset);
        Ok(())
    }
}

/// A view to be set.
struct ViewArguments {
    /// Where it begins, unless that is where the shared pointer is.
    disp: u64,
    etype: Arc<Datatype>,
    filetype: Arc<Datatype>,
    representation: Representation,
    /// The types as they are in the file.
    in_file: Arc<Datatype>,
    tile: Arc<Datatype>,
    hints: Info,
}

impl ViewArguments {
    fn new(
        facts: &FileFacts,
        disp: MPI_Offset,
        (etype, filetype): (MPI_Datatype, MPI_Datatype),
        datarep: Result<Cow<'_, str>>,
        info: MPI_Info,
    ) -> Result<ViewArguments> {
        facts.expect_idle()?;
        let name = datarep?;
        let mut process = enter();
        let hints = process.hints(info)?;
        let representation = process.representation(&name).ok_or_else(|| {
            fail(MPI_ERR_UNSUPPORTED_DATAREP, format!("the data representation '{name}' does not exist"))
        })?;
        let (etype, filetype) = (
            process.objects.types.committed(etype)?.clone(),
            process.objects.types.committed(filetype)?.clone(),
        );
        drop(process);
        let (in_file, tile) = (representation.in_file(&etype)?, representation.in_file(&filetype)?);
        let disp = given(disp, facts.may(MPI_MODE_SEQUENTIAL))?;
        Ok(ViewArguments { disp, etype, filetype, representation, in_file, tile, hints })
    }

    fn view(self, facts: &FileFacts) -> Result<FileView> {
        let view = View::new(self.disp, self.in_file.size() as u64, self.tile.layout(), facts.writes());
        let view = view.map_err(|bad| {
            let class = if bad == BadView::Negative { MPI_ERR_DISP } else { MPI_ERR_ARG };
            fail(class, bad.to_string())
        })?;
        let ViewArguments { etype, filetype, representation, .. } = self;
        Ok(FileView { view, etype, filetype, representation })
    }
}

/// The displacement of a call; 0 for that of the shared pointer, which is asked for later.
fn given(disp: MPI_Offset, is_sequential: bool) -> Result<u64> {
    let text = match disp {
        MPI_DISPLACEMENT_CURRENT if is_sequential => return Ok(0),
        0.. if !is_sequential => return Ok(disp as u64),
        MPI_DISPLACEMENT_CURRENT => {
            "MPI_DISPLACEMENT_CURRENT is for files opened with MPI_MODE_SEQUENTIAL".to_owned()
        }
        0.. => "a file opened with MPI_MODE_SEQUENTIAL needs MPI_DISPLACEMENT_CURRENT as disp".to_owned(),
        _ => format!("disp is {disp}, but must not be negative"),
    };
    Err(fail(MPI_ERR_DISP, text))
}

/// The view begins where the shared pointer is when all ranks have come: before, one may still move it. Rank 0 looks, and tells.
fn at_pointer(fh: MPI_File, facts: &FileFacts, wanted: Result<ViewArguments>) -> Result<ViewArguments> {
    let participants = facts.participants("MPI_File_set_view");
    let (wanted, _) = agree(&participants, wanted, &[])?;
    let place = if facts.me == 0 { place_of_pointer(fh, facts) } else { Ok(0) };
    let word = *place.as_ref().unwrap_or(&0);
    let (_, told) = agree(&participants, place, &[word])?;
    Ok(ViewArguments { disp: told[0][0], ..wanted })
}

/// Where the shared pointer is, in bytes of the file.
fn place_of_pointer(fh: MPI_File, facts: &FileFacts) -> Result<u64> {
    let position = facts.shared.get("MPI_File_set_view", facts)?;
    let process = enter();
    let view = &process.file(fh)?.view.view;
    Ok(view.offset_of(position * view.etype_bytes()))
}

fn set(fh: MPI_File, facts: &Arc<FileFacts>, wanted: Result<ViewArguments>) -> Result {
    let is_at_pointer = facts.may(MPI_MODE_SEQUENTIAL);
    let wanted = if is_at_pointer { Ok(at_pointer(fh, facts, wanted)?) } else { wanted };
    let hints = wanted.as_ref().ok().map(|wanted| &wanted.hints);
    let changed = ChangedHints::new(fh, hints.unwrap_or(&Info::default()))?;
    // Ranks may have different types, but elementary types of one extent in the file, one representation, and alike hints.
    let mut same = vec![0, 0];
    if let Ok(wanted) = &wanted {
        let mut hasher = DefaultHasher::new();
        wanted.representation.name().hash(&mut hasher);
        same = vec![wanted.in_file.extent() as u64, hasher.finish()];
    }
    same.extend(changed.hints.shared());
    let view = wanted.and_then(|wanted| wanted.view(facts));
    let view = once("MPI_File_set_view", facts, (view, &same), |_| {
        facts.shared.set(0);
        Ok(())
    })?;
    let mut process = enter();
    let file = process.file_mut(fh)?;
    file.set_view(view);
    changed.adopt(&mut process, fh)
}
