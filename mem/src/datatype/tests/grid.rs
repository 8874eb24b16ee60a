//! Subarrays and distributed arrays against figures that two other libraries agree on.

use super::*;

/// One row of `grid.tsv`.
struct Row<'a> {
    letters: &'a str,
    order: ArrayOrder,
    lists: [Vec<i64>; 5],
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Self {
        let cells: Vec<&str> = line.split('\t').collect();
        let numbers = |cell: &str| cell.split(' ').filter_map(|word| word.parse().ok()).collect();
        let order = if cells[1] == "C" { ArrayOrder::C } else { ArrayOrder::Fortran };
        Row { letters: cells[0], order, lists: [2, 3, 4, 5, 6].map(|cell| numbers(cells[cell])) }
    }

    fn build(&self) -> Arc<Datatype> {
        let [process, gsizes, dargs, psizes, _] = &self.lists;
        let distribution = |letter| match letter {
            'b' => Distribution::Block,
            'c' => Distribution::Cyclic,
            _ => Distribution::None,
        };
        let distribs: Vec<_> = self.letters.chars().map(distribution).collect();
        let dargs: Vec<_> = dargs.iter().map(|&d| if d == 0 { DEFAULT_DARG } else { d as i32 }).collect();
        let psizes: Vec<_> = psizes.iter().map(|&p| p as i32).collect();
        let array = Darray {
            size: process[0] as i32,
            rank: process[1] as i32,
            gsizes,
            distribs: &distribs,
            dargs: &dargs,
            psizes: &psizes,
            order: self.order,
        };
        Datatype::darray(ConstructorForm::Int, &array, &int()).unwrap()
    }
}

#[test]
fn distributed_arrays_pick_the_same_elements_as_elsewhere() {
    for line in include_str!("grid.tsv").lines().filter(|line| !line.starts_with('#')) {
        let row = Row::parse(line);
        let (datatype, whole) = (row.build(), row.lists[1].iter().product::<i64>());
        let picked: Vec<i64> = indices(&datatype, 1, whole as usize).into_iter().map(i64::from).collect();
        assert_eq!(picked, row.lists[4], "{line}");
        assert_eq!((datatype.lb(), datatype.extent()), (0, 4 * whole), "{line}");
    }
}

#[test]
fn subarrays_follow_the_storage_order() {
    let part = |order| Subarray { sizes: &[3, 4], subsizes: &[2, 2], starts: &[1, 1], order };
    let of = |order| Datatype::subarray(ConstructorForm::Int, &part(order), &int()).unwrap();
    assert_eq!(indices(&of(ArrayOrder::C), 1, 12), [5, 6, 9, 10]);
    assert_eq!(indices(&of(ArrayOrder::Fortran), 2, 24), [4, 5, 7, 8, 16, 17, 19, 20]);
}

#[test]
fn wrong_grids_are_refused() {
    let array = |psizes: &'static [i32], dargs: &'static [i32]| Darray {
        size: 4,
        rank: 1,
        gsizes: &[8, 8],
        distribs: &[Distribution::Block, Distribution::None],
        dargs,
        psizes,
        order: ArrayOrder::C,
    };
    let refused =
        |psizes, dargs| Datatype::darray(ConstructorForm::Int, &array(psizes, dargs), &int()).unwrap_err();
    let free = &[DEFAULT_DARG; 2];
    assert_eq!(refused(&[3, 1], free), TypeError::Grid { grid: 3, size: 4 });
    assert_eq!(refused(&[2, 2], free), TypeError::NotDistributed { dim: 1, processes: 2 });
    let too_small = TypeError::BlockTooSmall { dim: 0, block: 1, processes: 4, global: 8 };
    assert_eq!(refused(&[4, 1], &[1, DEFAULT_DARG]), too_small);
    let part = Subarray { sizes: &[4], subsizes: &[2], starts: &[3], order: ArrayOrder::C };
    let error = Datatype::subarray(ConstructorForm::Int, &part, &int()).unwrap_err();
    assert_eq!(error.to_string(), "array_of_starts[0] is 3, but must be between 0 and 2");
}
