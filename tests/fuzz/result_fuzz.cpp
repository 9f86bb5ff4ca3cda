// Fuzz target for result files: inspects, verifies and repairs them, and reads them like a resumed
// run.

#include "base/error.hpp"
#include "fuzz.hpp"
#include "profile/earlier_run.hpp"
#include "profile/result_file.hpp"
#include "profile/verify.hpp"

namespace dbench::fuzz {

const char* const kWords[] = {
    "\x89HDF\r\n\x1a\n", "OHDR",     "FRHP",       "EAHD", "EASB", "EADB", "FAHD",
    "running",           "complete", "dbench-run", "OCHK", nullptr};

void read(const std::string& input) {
    const std::string path = in_file(input, "run.h5");
    const profile::Inspection found = profile::inspect(path);
    static_cast<void>(profile::to_text(found));
    if (!found.readable) return;
    static_cast<void>(profile::to_text(profile::verify(path)));
    static_cast<void>(profile::clear_write_mark(path));
    static_cast<void>(profile::read_earlier_run(path, 2));
}

}  // namespace dbench::fuzz
