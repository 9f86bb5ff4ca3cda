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

constexpr double kLongSilence = 600;  // seconds after which a writer that cannot be asked is gone
constexpr int64_t kMostStarts = 1 << 20;
constexpr size_t kHeadBytes = 1 << 16;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw base::UserError(path + " is not a result file of dbench (" + why + ")");
}

double seconds_since_write(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return 0;
    return std::max(0.0, std::difftime(std::time(nullptr), status.st_mtime));
}

int64_t rows(hid_t file, const char* name) { return static_cast<int64_t>(h5::rows_of(file, name)); }

std::string text_of(hid_t file, const char* name, bool last) {
    const h5::Dataset dataset(H5Dopen2(file, name, H5P_DEFAULT), "read a data set");
    const h5::Type type(H5Dget_type(dataset), "read a type");
    if (rows(file, name) < 1 || H5Tget_class(type) != H5T_STRING) return "";
    if (rows(file, name) > kMostStarts || H5Tis_variable_str(type) != 0) {
        throw h5::Error(std::string("cannot read ") + name + " (its shape is another one)");
    }
    const size_t size = H5Tget_size(type), all = size * static_cast<size_t>(rows(file, name));
    std::string texts(all, '\0');
    h5::check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()), "read a text");
    return std::string(texts.substr(last ? all - size : 0, size).c_str());
}
std::string last_text(hid_t file, const char* name) { return text_of(file, name, true); }

/// Whether the file's last start was this very job's before the batch system queued it again: such
/// a start is over, wherever it was. A site without Slurm has only the file's silence to go by.
bool written_before_requeue(hid_t file) {
    const char* job = std::getenv("SLURM_JOB_ID");
    const char* restarts = std::getenv("SLURM_RESTART_COUNT");
    return job && restarts && std::atoi(restarts) > 0 && last_text(file, "segments/job") == job;
}

void read_head(hid_t file, const std::string& path, Inspection& found) {
    if (h5::read_text_attribute(file, "schema") != kSchema) refuse(path, "another schema");
    found.name = h5::read_text_attribute(file, "name");
    found.status = h5::read_text_attribute(file, "status");
    found.error = h5::read_text_attribute(file, "error");
    found.started = h5::read_text_attribute(file, "started");
    found.finished = h5::read_text_attribute(file, "finished");
    found.replicas = h5::read_integer_attribute(file, "replicas");
    found.ranks = h5::read_integer_attribute(file, "ranks");
    const h5::Group iterations(H5Gopen2(file, "iterations", H5P_DEFAULT), "open a group");
    found.spec = h5::read_text(file, "spec");
    found.planned = h5::read_integer_attribute(iterations, "planned");
    found.host = last_text(file, "segments/host");
    found.device = text_of(file, "ranks/device", false);
    found.iterations = rows(file, "iterations/iteration");
    found.profiled = rows(file, "parameters/iteration");
    found.evaluations = rows(file, "evaluations/iteration");
    found.events = rows(file, "events/time");
    found.readable = true;
}

/// For a file that HDF5 will not open: its root object stands near its beginning.
bool mentions_schema(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string head(kHeadBytes, '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    return head.find(kSchema) != std::string::npos;
}

/// Returns whether this job itself wrote it before it was queued again.
bool read(const std::string& path, Inspection& found) {
    const WriteMark mark = write_mark(path);
    if (!mark.hdf5) refuse(path, "not an HDF5 file");
    found.flagged = mark.writing;
    found.readable = false;
    h5::prepare();
    try {
        const h5::Properties access = h5::file_access();
        const unsigned mode = H5F_ACC_RDONLY | (mark.readable ? H5F_ACC_SWMR_READ : 0U);
        const h5::File file(H5Fopen(path.c_str(), mode, access), "open it");
        read_head(file, path, found);
        return written_before_requeue(file);
    } catch (const h5::Error& error) {
        if (!mentions_schema(path)) refuse(path, error.what());
        found.problem = error.what();
        return false;
    }
}

Writer writer_of(const Inspection& found, base::Locked guard, bool over) {
    const bool unfinished = found.flagged || found.status == "running";
    if (guard == base::Locked::yes) return Writer::alive;
    if (!unfinished) return Writer::none;
    char here[256] = "";
    gethostname(here, sizeof here - 1);
    const bool elsewhere = !found.host.empty() && found.host != here;
    const bool blind = !over && (guard == base::Locked::unknown || elsewhere);
    return blind && found.silent_for < kLongSilence ? Writer::unknown : Writer::dead;
}

}  // namespace

Inspection inspect(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) throw base::UserError(path + ": no such file");
    if (!S_ISREG(status.st_mode)) refuse(path, "no ordinary file");
    Inspection found;
    found.path = path;
    found.bytes = status.st_size;
    try {
        // First: a writer that ends meanwhile counts as alive.
        const base::Locked guard = guarded(path);
        const bool over = read(path, found);
        found.silent_for = seconds_since_write(path);
        found.writer = writer_of(found, guard, over);
    } catch (const h5::Error& error) {
        throw base::UserError(path + ": " + error.what());
    }
    return found;
}

bool clear_flag(const std::string& path) {
    const Inspection found = inspect(path);
    if (!found.flagged) return false;
    if (found.writer == Writer::alive) {
        throw base::UserError(path + " is being written: its mark was left alone");
    }
    if (found.writer == Writer::unknown) {
        throw base::UserError(path + " may be being written on " + found.host + " (last change " +
                              std::to_string(static_cast<int>(found.silent_for)) +
                              " s ago): its mark was left alone; try there, or in ten minutes");
    }
    try {
        struct stat before {};
        const bool known = stat(path.c_str(), &before) == 0;
        wipe_mark(path);
        // The file's silence tells others whether its writer lives: looking does not end it.
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
