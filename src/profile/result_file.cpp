#include "profile/result_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/error.hpp"
#include "profile/file_guard.hpp"
#include "profile/h5.hpp"
#include "profile/schema.hpp"
#include "profile/superblock.hpp"

namespace dbench::profile {
namespace {

// Seconds without a write after which an unreachable writer is considered dead.
constexpr double kLongSilence = 600;
constexpr int64_t kMaxSegments = 1 << 20;
constexpr size_t kHeadBytes = 1 << 16;

[[noreturn]] void refuse_result_file(const std::string& path, const std::string& why) {
    throw base::UserError(path + " is not a result file of dbench (" + why +
                          "): name another file");
}

/// Clocks of hosts differ by minutes at most. A time that lies further in the future was set by a
/// wrong clock or by hand, and says nothing about a living writer.
double seconds_since_write(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return 0;
    const double seconds = std::difftime(std::time(nullptr), status.st_mtime);
    return seconds < -kLongSilence ? kLongSilence : std::max(0.0, seconds);
}

int64_t rows(hid_t file, const char* name) { return static_cast<int64_t>(h5::rows_of(file, name)); }

std::string text_of(hid_t file, const char* name, bool last) {
    const h5::Dataset dataset = h5::open_dataset(file, name);
    const h5::Type type(H5Dget_type(dataset), "read a type");
    if (rows(file, name) < 1 || H5Tget_class(type) != H5T_STRING) return "";
    if (rows(file, name) > kMaxSegments || H5Tis_variable_str(type) != 0) {
        throw h5::Error(std::string("cannot read ") + name +
                        " (its shape is not the expected one)");
    }
    const size_t size = H5Tget_size(type), all = size * static_cast<size_t>(rows(file, name));
    std::string texts(all, '\0');
    h5::check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()), "read a text");
    return std::string(texts.substr(last ? all - size : 0, size).c_str());
}
std::string result_file_last_text(hid_t file, const char* name) {
    return text_of(file, name, true);
}

/// True if the file's last start was this very job, before the batch system requeued it. That start
/// has ended, whichever host it ran on. Without Slurm, only the time since the last write tells
/// whether a writer on another host is alive.
bool written_before_requeue(hid_t file) {
    const char* job = std::getenv("SLURM_JOB_ID");
    const char* restarts = std::getenv("SLURM_RESTART_COUNT");
    return job && restarts && std::atoi(restarts) > 0 &&
           result_file_last_text(file, "segments/job") == job;
}

/// Returns the provenance; "" if it is missing or damaged, since the rest of the file may be used
/// without it.
std::string provenance_of(hid_t file) {
    try {
        return h5::read_text(file, "provenance");
    } catch (const h5::Error&) {
        return "";
    }
}

void read_head_result_file(hid_t file, const std::string& path, Inspection& found) {
    if (h5::read_text_attribute(file, "schema") != kSchema)
        refuse_result_file(path, "another schema");
    found.name = h5::read_text_attribute(file, "name");
    found.status = h5::read_text_attribute(file, "status");
    found.error = h5::read_text_attribute(file, "error");
    found.started = h5::read_text_attribute(file, "started");
    found.finished = h5::read_text_attribute(file, "finished");
    found.replicas = h5::read_integer_attribute(file, "replicas");
    found.ranks = h5::read_integer_attribute(file, "ranks");
    const h5::Group iterations(H5Gopen2(file, "iterations", H5P_DEFAULT), "open a group");
    found.spec = h5::read_text(file, "spec");
    found.provenance = provenance_of(file);
    found.planned = h5::read_integer_attribute(iterations, "planned");
    found.host = result_file_last_text(file, "segments/host");
    found.device = text_of(file, "ranks/device", false);
    found.iterations = rows(file, "iterations/iteration");
    found.profiled = rows(file, "parameters/iteration");
    found.evaluations = rows(file, "evaluations/iteration");
    found.events = rows(file, "events/time");
    found.readable = true;
}

/// True if the file contains the schema's name near its beginning, where the root object is stored.
/// Used for files that HDF5 cannot open.
bool mentions_schema(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string head(kHeadBytes, '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    return head.find(kSchema) != std::string::npos;
}

/// Reads the file. Returns true if this job itself wrote it before it was requeued.
bool read_result_file(const std::string& path, Inspection& found) {
    const WriteMark mark = write_mark(path);
    if (!mark.hdf5) refuse_result_file(path, "not an HDF5 file");
    found.flagged = mark.writing;
    found.readable = false;
    h5::prepare();
    try {
        const h5::Properties access = h5::file_access();
        const unsigned mode = H5F_ACC_RDONLY | (mark.readable ? H5F_ACC_SWMR_READ : 0U);
        const h5::File file(H5Fopen(path.c_str(), mode, access), "open it");
        h5::refuse_other_files(file);
        read_head_result_file(file, path, found);
        return written_before_requeue(file);
    } catch (const h5::Error& error) {
        if (!mentions_schema(path)) refuse_result_file(path, error.what());
        found.problem = error.what();
        return false;
    }
}

Writer writer_of(const Inspection& found, base::LockState guard, bool over) {
    const bool unfinished = found.flagged || found.status == "running";
    if (guard == base::LockState::yes) return Writer::alive;
    if (!unfinished) return Writer::none;
    char here[256] = "";
    gethostname(here, sizeof here - 1);
    const bool elsewhere = !found.host.empty() && found.host != here;
    const bool blind = !over && (guard == base::LockState::unknown || elsewhere);
    return blind && found.seconds_since_write < kLongSilence ? Writer::unknown : Writer::dead;
}

}  // namespace

Inspection inspect(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) throw base::UserError(path + ": no such file");
    if (!S_ISREG(status.st_mode)) refuse_result_file(path, "not an ordinary file");
    Inspection found;
    found.path = path;
    found.bytes = status.st_size;
    try {
        // Queried first: a writer that ends meanwhile counts as alive.
        const base::LockState guard = writer_lock(path);
        const bool over = read_result_file(path, found);
        found.seconds_since_write = seconds_since_write(path);
        found.writer = writer_of(found, guard, over);
    } catch (const h5::Error& error) {
        throw base::UserError(path + ": " + error.what());
    }
    return found;
}

bool clear_write_mark(const std::string& path) {
    const Inspection found = inspect(path);
    if (!found.flagged) return false;
    if (found.writer == Writer::alive) {
        throw base::UserError(path + " is being written: its mark was not cleared");
    }
    if (found.writer == Writer::unknown) {
        throw base::UserError(
            path + " is possibly being written on " + found.host + " (last change " +
            std::to_string(static_cast<int>(found.seconds_since_write)) +
            " s ago): its mark was not cleared; try on that host, or in ten minutes");
    }
    try {
        struct stat before {};
        const bool known = stat(path.c_str(), &before) == 0;
        clear_mark(path);
        // Restores the file's times: others conclude from the last write whether its writer is
        // alive.
        const struct timespec times[2] = {before.st_atim, before.st_mtim};
        if (known) static_cast<void>(utimensat(AT_FDCWD, path.c_str(), times, 0));
    } catch (const h5::Error& error) {
        throw base::UserError(path + ": " + error.what());
    }
    return true;
}

std::string hdf5_version() {
    unsigned major = 0, minor = 0, release = 0;
    h5::prepare();
    H5get_libversion(&major, &minor, &release);
#ifdef H5_HAVE_PARALLEL
    const char* kind = "parallel";
#else
    const char* kind = "serial";
#endif
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release) +
           ", " + kind;
}

}  // namespace dbench::profile
