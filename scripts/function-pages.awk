# The pages of scripts/function-pages.sh. Each pass reads one kind of source; the last one writes.

BEGIN {
    words["BUFFER"] = words["C_BUFFER"] = "address of a buffer"
    words["DATATYPE"] = "datatype"
    words["COMMUNICATOR"] = "communicator"
    words["REQUEST"] = "request"
    words["RANK"] = words["RANK_NNI"] = "rank"
    words["INFO"] = "info object"
    words["FILE"] = "file"
    words["STRING"] = "string"
    words["STATUS"] = "status"
    words["WINDOW"] = "window"
    words["TAG"] = "tag"
    words["OPERATION"] = "operation"
    words["LOGICAL"] = "flag: not 0 if true"
    words["GROUP"] = "group"
    words["OFFSET"] = "offset in a file"
    words["ARRAY_LENGTH"] = words["ARRAY_LENGTH_NNI"] = words["ARRAY_LENGTH_PI"] = "length of arrays"
    words["KEYVAL"] = "key of attributes"
    words["STRING_LENGTH"] = "length of a string"
    words["FUNCTION"] = words["POLYFUNCTION"] = "function of the program"
    words["ERRHANDLER"] = "error handler"
    words["ERROR_CODE"] = "error code"
    words["ERROR_CLASS"] = "error class"
    words["SESSION"] = "session"
    words["PARTITION"] = "partition"
    words["MESSAGE"] = "matched message"
    words["EXTRA_STATE"] = "pointer that is handed to the function"
    words["ATTRIBUTE_VAL"] = "value of an attribute"
    words["ASSERT"] = "assertions, or 0"
    words["COMM_SIZE"] = words["COMM_SIZE_PI"] = "number of processes"
    words["PROCESS_GRID_SIZE"] = "number of processes in each dimension"
    words["KEY_INDEX"] = "index of a key"
    # Parameters whose kind says less than their name, or something else.
    called["nkeys"] = "number of keys"
    called["partitions"] = "number of partitions"
    called["array_of_partitions"] = "partitions"
    called["num_cat"] = called["num_categories"] = "number of categories"
    called["num_cvar"] = called["num_cvars"] = "number of control variables"
    called["num_pvar"] = called["num_pvars"] = "number of performance variables"
    called["num_events"] = "number of events"
    called["num_sources"] = "number of sources"
    called["lb"] = called["true_lb"] = "lower bound, bytes"
    called["extent"] = called["true_extent"] = "extent, bytes"
    called["position"] = "position in packed data, bytes"
    called["disp_unit"] = "bytes of a unit of displacements"
    called["address"] = called["array_of_addresses"] = "address"
    called["direction"] = "dimension"
    called["array_of_starts"] = "first element in each dimension"
    of["MPI_Type_size", "size"] = of["MPI_Type_size_x", "size"] = "number of bytes"
    of["MPI_File_get_size", "size"] = of["MPI_File_set_size", "size"] = "size of the file, bytes"
    of["MPI_File_preallocate", "size"] = "size of the file, bytes"
    of["MPI_Get_elements_x", "count"] = "number of elements"
    of["MPI_T_enum_get_info", "num"] = "number of values"
    split("vector indexed create_hvector create_hindexed create_indexed_block create_hindexed_block create_struct", blocks, " ")
    for (i in blocks) of["MPI_Type_" blocks[i], "count"] = "number of blocks"
    # What C has not.
    said["MPI_F_sync_reg"] = "Tells the compiler that a buffer may change here. It has no error code, and the program need not call it " \
        "where the buffer has the attribute ASYNCHRONOUS."
    said["MPI_Sizeof"] = "The bytes of a variable of a basic type. It is deprecated: use the intrinsic STORAGE_SIZE."
    said["MPI_Status_f082f"] = "The status of mpif.h and of the module mpi from that of the module mpi_f08."
    said["MPI_Status_f2f08"] = "The status of the module mpi_f08 from that of mpif.h and of the module mpi."
    way["in"] = "in"
    way["out"] = "out"
    way["inout"] = "in and out"
    fortran["COMM"] = "type(MPI_Comm)"
    fortran["DATATYPE"] = "type(MPI_Datatype)"
    fortran["ERRHANDLER"] = "type(MPI_Errhandler)"
    fortran["FILE"] = "type(MPI_File)"
    fortran["GROUP"] = "type(MPI_Group)"
    fortran["INFO"] = "type(MPI_Info)"
    fortran["MESSAGE"] = "type(MPI_Message)"
    fortran["OP"] = "type(MPI_Op)"
    fortran["REQUEST"] = "type(MPI_Request)"
    fortran["SESSION"] = "type(MPI_Session)"
    fortran["WIN"] = "type(MPI_Win)"
    fortran["STATUS"] = "type(MPI_Status)"
    fortran["STATUSES"] = "type(MPI_Status), dimension(*)"
    fortran["POINTER"] = "type(C_PTR)"
    fortran["IERROR"] = "integer, optional, intent(out) :: ierror"
    fortran["COUNT"] = "integer"
    fortran["DISPLACEMENT"] = "integer"
    fortran["EXTENT"] = "integer(MPI_ADDRESS_KIND)"
    fortran["OFFSET"] = "integer(MPI_OFFSET_KIND)"
}

# A prototype may go over several lines.
pass == "prototypes" && /^[A-Za-z].*[ *]MPI_[A-Za-z0-9_]+\(/ && !/^(typedef|#)/ { declaration = "" ; declares = 1 }
pass == "prototypes" && declares {
    declaration = declaration (declaration == "" ? "" : "\n") $0
    if (/;[ \t]*$/) {
        match(declaration, /MPI_[A-Za-z0-9_]+\(/)
        name = substr(declaration, RSTART, RLENGTH - 1)
        if (!(name in prototype)) prototype[name] = declaration
        declares = 0
    }
}

# PROC(MPI_Name)(arguments) HEAD, declarations, END_PROC. What stands under OLD is not in the module mpi_f08.
pass == "interfaces" && /^#/ { old = /^#ifdef OLD/ }
pass == "interfaces" && !old && /^(PROC|PROC_TS|FUNC)\(/ {
    # The kind of a function's result may be a name of MPI's, too.
    match($0, /MPI_[A-Za-z0-9_]+\)\(/)
    subroutine = substr($0, RSTART, RLENGTH - 2)
    rest = substr($0, RSTART + RLENGTH - 1)
    sub(/[ \t]*HEAD.*$/, "", rest)
    if (/^FUNC/) {
        kind = $0
        sub(/^FUNC\(/, "", kind)
        sub(/, *MPI_[A-Za-z0-9_]+\).*$/, "", kind)
        rest = subroutine rest
        text = ((kind in fortran) ? fortran[kind] : kind) " function " rest
    } else {
        text = "subroutine " subroutine rest
    }
    next
}
pass == "interfaces" && /^END_(PROC|FUNC)/ {
    if (subroutine != "" && !(subroutine in interface)) interface[subroutine] = text
    subroutine = ""
    next
}
pass == "interfaces" && subroutine != "" && !/^!/ {
    line = $0
    if (match(line, /^ *CALLBACK\([A-Za-z_0-9]+\)/)) sub(/CALLBACK\(/, "procedure(", line)
    if (match(line, /[A-Z_]+/) && substr(line, RSTART, RLENGTH) in fortran && line ~ /^ *[A-Z_]+([ ,]|$)/)
        line = substr(line, 1, RSTART - 1) fortran[substr(line, RSTART, RLENGTH)] substr(line, RSTART + RLENGTH)
    sub(/[ \t]*HEAD.*$/, "", line)
    text = text "\n" line
}

# The comment before 'safe fn MPI_Name, MPI_Name_c<W>(' goes to both names.
pass == "comments" && FNR == 1 { remark = "" }
pass == "comments" && /^ *\/\/\/ / {
    line = $0
    sub(/^ *\/\/\/ /, "", line)
    remark = remark (remark == "" ? "" : "\n") line
    next
}
pass == "comments" && /^ *((safe|unsafe|pub) )*fn MPI_/ {
    names = $0
    sub(/^ *((safe|unsafe|pub) )*fn /, "", names)
    sub(/\(.*$/, "", names)
    gsub(/<W>/, "", names)
    count = split(names, name_of, /, */)
    for (i = 1; i <= count; i++) if (remark != "" && !(name_of[i] in said)) said[name_of[i]] = remark
    remark = ""
    next
}
pass == "comments" && !/^ *#\[/ { remark = "" }

pass == "functions" && !/^#/ {
    split($0, row, "\t")
    rows[row[1]] = $0
    order[++number] = row[1]
}

END {
    for (i = 1; i <= number; i++) write_page(order[i])
    for (name in interface) {
        base = name
        sub(/_c$/, "", base)
        if (!(base in rows)) write_page(name)
    }
    if (missing != "") {
        print "function-pages.awk: no comment, or no prototype, of" missing >"/dev/stderr"
        exit 1
    }
}

# A function with a large count is on the page of the one without.
function write_page(name,    file, base, cell, i, count, part, summary, declared) {
    file = folder "/" name ".3"
    base = name
    sub(/_c$/, "", base)
    if (base != name && base in rows) {
        printf ".\\\" Tern\n.so man3/%s.3\n", base >file
        close(file)
        return
    }
    # One macro makes these for all kinds of handles.
    if (name ~ /_toint$/) said[name] = "The integer by which Fortran's mpif.h and mpi module know a handle."
    if (name ~ /_fromint$/) said[name] = "The handle that Fortran's mpif.h and mpi module know by an integer."
    declared = (name in rows) ? (name in prototype) : (name in interface)
    if (!(name in said) || !declared) {
        missing = missing " " name (declared ? "" : " (prototype)")
        return
    }
    summary = said[name]
    gsub(/\n/, " ", summary)
    if (match(summary, /\. /)) summary = substr(summary, 1, RSTART)
    sub(/\.$/, "", summary)
    printf ".\\\" Tern\n.TH %s 3 \"\" \"Tern %s\" \"MPI\"\n", name, version >file
    printf ".SH NAME\n%s \\- %s\n", name, escaped(plain(summary)) >file
    printf ".SH SYNOPSIS\n.nf\n" >file
    if (name in prototype) printf ".B #include <mpi.h>\n\n%s\n", escaped(prototype[name]) >file
    if ((name "_c") in prototype) printf "%s\n", escaped(prototype[name "_c"]) >file
    if (name in interface) printf "\nUSE mpi_f08\n%s\n", escaped(interface[name]) >file
    if ((name "_c") in interface) printf "%s\n", escaped(interface[name "_c"]) >file
    printf ".fi\n" >file
    count = split(rows[name], cell, "\t")
    if (count > 3) printf ".SH PARAMETERS\n" >file
    for (i = 4; i <= count; i++) {
        split(cell[i], part, ":")
        if (part[1] == "") continue
        printf ".TP\n.B %s\n%s\n", part[1], parameter(name, part[1], part[2], part[3], part[4]) >file
    }
    printf ".SH DESCRIPTION\n%s\n", escaped(plain(said[name])) >file
    if (cell[3] != "") printf ".PP\nDeprecated since %s.\n", cell[3] >file
    if ((name "_c") in prototype) {
        printf ".PP\n%s_c takes %s.\n", name, what_is_large(name) >file
    }
    # The integers of Fortran's handles are no error codes.
    if (cell[2] == "int" && name !~ /^MPI_T_|_toint$/) {
        printf ".SH ERRORS\nReturns MPI_SUCCESS, or an error code, after the error handler has been called.\n" >file
        printf "MPI_Error_string has its words, and MPI_Error_class its class.\n" >file
    } else if (name ~ /^MPI_T_/) {
        printf ".SH ERRORS\nReturns MPI_SUCCESS, or an error code of the tool interface. No error handler is called.\n" >file
    }
    printf ".SH SEE ALSO\n.BR mpirun (1),\n.BR mpicc (1).\nThe MPI standard, version 5.0, defines the function.\n" >file
    close(file)
}

# What a function with a large count takes, and what Fortran has in its place.
function what_is_large(name,    declared) {
    declared = prototype[name "_c"]
    # Interfaces that differ in nothing but a function of the program cannot have one name.
    if ((name "_c") in interface) return "functions whose counts are of the type MPI_Count. Fortran has " name "_c, too"
    return (declared ~ /MPI_Count/ ? "counts of the type MPI_Count" : "displacement units of the type MPI_Aint") \
        ". In Fortran, " name " takes them, too"
}

function parameter(function_name, name, type, kind, direction,    text) {
    text = (kind in words) ? words[kind] : ""
    if (name in called) text = called[name]
    if ((function_name, name) in of) text = of[function_name, name]
    if (text == "" && kind ~ /NUM_ELEM/) text = "number of elements"
    if (text == "" && kind ~ /DISPLACEMENT/) text = "displacement"
    if (text == "" && kind ~ /NUM_BYTES|SIZE/) text = "number of bytes"
    if (text == "" && kind ~ /INDEX/) text = "index"
    return type ((direction in way) ? ", " way[direction] : "") (text == "" ? "" : ": " text)
}

# A comment without what marks code and links in it.
function plain(remark) {
    gsub(/`|\[|\]/, "", remark)
    return remark
}

# A text for roff: no line is a request, and no backslash an escape.
function escaped(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/\n[.']/, "\n\\\\\\&&", text)
    return text
}
