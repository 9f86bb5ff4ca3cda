// dbench doctor: reports on this build and machine, measures links, and inspects result files and
// folders. Implements dbench version, too.
#include <sys/statvfs.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/input_file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "comm/host/host_memory.hpp"
#include "comm/transport/launcher.hpp"
#include "comm/versions.hpp"
#include "comm/world/link_speed.hpp"
#include "data/dataset.hpp"
#include "profile/folder_check.hpp"
#include "profile/result_file.hpp"
#include "profile/verify.hpp"
#include "program/commands.hpp"
#include "program/prepare_run.hpp"
#include "program/provenance.hpp"
#include "train/device/device.hpp"

namespace dbench::program {
namespace {

std::string fact_line(const std::string& name, const std::string& value) {
    return base::column(name, 17) + value + "\n";
}

void print_fact(const std::string& name, const std::string& value) {
    std::fputs(fact_line(name, value).c_str(), stdout);
}

void print_machine(const std::string& launcher) {
    for (const auto& [name, value] : build_facts()) {
        print_fact(name, name == "NCCL"  ? comm::nccl_status()
                         : name == "MPI" ? comm::mpi_status()
                                         : value);
    }
    for (const auto& [name, value] : train::gpu_facts()) print_fact(name, value);
    print_fact("launcher", launcher);
    print_fact("processors", std::to_string(usable_cpus()));
    const char* root = std::getenv("DBENCH_DATA");
    print_fact("DBENCH_DATA",
               root ? root : "not set (data sets with files need it, or /data/root)");
    for (const auto& set : data::data_status(root ? root : ""))
        print_fact("  " + set.name, set.detail);
}

/// Returns the first rank on another host than rank 0's, or rank 1 if all are on one host.
int partner_of_first(const std::vector<std::string>& hosts) {
    for (size_t rank = 1; rank < hosts.size(); ++rank) {
        if (hosts[rank] != hosts[0]) return static_cast<int>(rank);
    }
    return 1;
}

/// Measures the MPI library's all-reduce of rows and compares it with the time that the link needs.
/// If the ranks are on several hosts (`across_hosts`), warns if it is much slower than their link
/// allows.
void print_sum(comm::World& world, const comm::LinkSpeed& link, bool across_hosts) {
    const comm::SumSpeed sum = comm::measure_sum(world);
    if (world.rank() != 0) return;
    const double least = comm::SumSpeed::least(world.size(), link.both_ways / 2);
    char text[160], floor[80];
    std::snprintf(text, sizeof text, "%.1f ms for %.1f MB by the MPI library", 1e3 * sum.seconds,
                  comm::SumSpeed::bytes / 1e6);
    std::snprintf(floor, sizeof floor, "; the link needs at least %.1f ms", 1e3 * least);
    print_fact("all-reduce", std::string(text) + (across_hosts ? floor : ""));
    constexpr double kSlowRatio = 1.4;
    if (!across_hosts || sum.seconds < kSlowRatio * least) return;
    base::warn(
        "the MPI library's all-reduce takes much longer than the link needs: with \"reduction\": "
        "\"library\" centralized training would look slower than it is. Choose another all-reduce "
        "algorithm of the library (Open MPI: OMPI_MCA_coll_libnbc_iallreduce_algorithm=1, a ring), "
        "or \"reduction\": \"reproducible\"");
}

void print_link(comm::World& world) {
    const std::vector<std::string> hosts = world.all_gather(world.host());
    const int other = partner_of_first(hosts);
    const bool across_hosts = hosts[other] != hosts[0];
    const comm::LinkSpeed speed = comm::measure_link(world, 0, other);
    if (world.rank() == 0) {
        char text[160];
        std::snprintf(text, sizeof text, "%.0f MB/s one way, %.0f MB/s both ways together",
                      speed.one_way / 1e6, speed.both_ways / 1e6);
        const std::string where =
            across_hosts ? hosts[0] + " and " + hosts[other] : "ranks 0 and 1, one host";
        print_fact("link", std::string(text) + " (" + where + ")");
    }
    print_sum(world, speed, across_hosts);
    if (world.rank() != 0 || !across_hosts || !speed.half_duplex()) return;
    base::warn(
        "the link carries hardly more data in both directions together than in one: decentralized "
        "training sends in both directions at once and would look slower than it is. With Open MPI "
        "over TCP, do not set OMPI_MCA_btl_tcp_flags (dbench sets it); otherwise check the link");
}

/// Prints how ranks on the same host exchange rows, for each host.
void print_hosts(comm::World& world) {
    const comm::HostMemory memory(world);
    const std::string mine = world.local_rank() == 0 ? memory.status() : "";
    const std::vector<std::string> hosts = world.all_gather(world.host());
    const std::vector<std::string> all = world.all_gather(mine);
    for (size_t rank = 0; world.rank() == 0 && rank < all.size(); ++rank) {
        if (!all[rank].empty()) print_fact("rows on a host", all[rank] + " (" + hosts[rank] + ")");
    }
}

int inspect_machine() {
    std::optional<comm::World> joined;
    try {
        joined.emplace(comm::launch());
    } catch (const comm::Unconnected&) {
        print_machine("several processes that MPI did not connect");
        std::fflush(stdout);
        throw;
    }
    comm::World& world = *joined;
    if (world.rank() == 0) {
        print_machine(comm::launched_by_mpi() ? "MPI" : "none (one process)");
    }
    if (world.size() > 1) print_hosts(world);
    if (world.size() > 1) print_link(world);
    return 0;
}

/// Throws UserError if the file of links exists. A listing of links takes long to measure again.
void refuse_existing_links(const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) {
        throw base::UserError("--links: " + path +
                              " exists: choose another name, or replace it with --force");
    }
}

/// Measures the links between all pairs of ranks and writes them to a file, which the placement of
/// a spec can read. The file appears under its name only when it is complete.
int write_links(const std::string& path, bool force) {
    if (!comm::launched_by_mpi()) {
        throw base::UserError(
            "--links: needs at least two ranks (links are measured between ranks): start "
            "mpirun -n N dbench doctor --links " +
            path);
    }
    comm::World world{comm::launch()};
    const std::string partial = path + ".partial";
    std::optional<base::NewFile> file;
    const auto on_rank_0 = [&](auto&& work) {
        run_on_all_ranks(world, [&] {
            try {
                if (world.rank() == 0) work();
            } catch (const base::RunError& error) {
                throw base::UserError(error.what());
            }
        });
    };
    try {
        // Opens the file before the measurement, so that a wrong path fails at once.
        on_rank_0([&] {
            if (!force) refuse_existing_links(path);
            file.emplace("--links: " + path + " cannot be written:", partial);
        });
        const std::vector<std::string> hosts = world.gather(world.host());
        const graphs::Links links = comm::measure_links(world);
        on_rank_0([&] {
            const std::string text = graphs::to_text(links, hosts);
            file->add(text.data(), text.size());
            file->finish();
            base::rename_file("--links:", partial, path, force);
            print_fact("links", std::to_string(links.slots) + " slots, " + path);
        });
    } catch (const base::UserError& error) {
        // All ranks throw the same error; only rank 0 prints it.
        if (world.rank() == 0) {
            if (file) std::remove(partial.c_str());
            base::report_error(error.what());
        }
        return base::kExitUser;
    }
    return 0;
}

int inspect_file(const std::string& path) {
    const profile::Inspection found = profile::inspect(path);
    std::fputs(profile::to_text(found).c_str(), stdout);
    bool good = found.readable;
    try {
        const profile::Verification checked = profile::verify(path);
        std::fputs(profile::to_text(checked).c_str(), stdout);
        good = good && checked.damage.empty();
    } catch (const base::UserError&) {
        if (found.readable) throw;  // otherwise the inspection above has already reported it
    }
    if (found.writer == profile::Writer::dead && profile::clear_write_mark(path)) {
        print_fact("cleared", "the flag that the dead writer left: the file opens as usual now");
    }
    return good ? 0 : base::kExitUser;
}

}  // namespace

int command_doctor(const DoctorArguments& arguments) {
    const std::string& path = arguments.path;
    if (!arguments.links.empty()) return write_links(arguments.links, arguments.force);
    if (path.empty()) return inspect_machine();
    if (base::kind_of(path) == base::PathKind::folder) {
        const profile::FolderCheck check = profile::check_folder(path);
        std::fputs(profile::to_text(check).c_str(), stdout);
        return check.good() ? 0 : base::kExitUser;
    }
    return inspect_file(path);
}

std::string version_text() {
    std::string text;
    for (const auto& [name, value] : build_facts()) text += fact_line(name, value);
    text.pop_back();  // The parser of the command line adds the last end of line.
    return text;
}

int command_version() {
    std::puts(version_text().c_str());
    return 0;
}

}  // namespace dbench::program
