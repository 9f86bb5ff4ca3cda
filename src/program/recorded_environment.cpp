#include "program/recorded_environment.hpp"

#include <algorithm>
#include <cstring>

namespace dbench::program {
namespace {

/// Names of variables. A name that ends with * stands for all names that begin like it.
constexpr std::string_view kWanted[] = {
    // This program, threads, memory, libraries of kernels.
    "DBENCH_*", "OMP_CANCELLATION", "OMP_DYNAMIC", "OMP_MAX_ACTIVE_LEVELS", "OMP_NUM_THREADS",
    "OMP_PLACES", "OMP_PROC_BIND", "OMP_SCHEDULE", "OMP_STACKSIZE", "OMP_THREAD_LIMIT",
    "OMP_WAIT_POLICY", "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT", "KMP_AFFINITY", "KMP_BLOCKTIME",
    "MKL_CBWR", "MKL_DYNAMIC", "MKL_ENABLE_INSTRUCTIONS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    "ATEN_CPU_CAPABILITY", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "TORCH_CUDNN_*", "TORCH_NCCL_*",
    "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NVML_BASED_CUDA_CHECK",
    "MALLOC_ARENA_MAX", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_",
    "MALLOC_TRIM_THRESHOLD_",
    // GPUs.
    "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_VISIBLE_DEVICES",
    "CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE", "NVIDIA_VISIBLE_DEVICES", "NCCL_*",
    // MPI: the world, the transports and where ranks are bound. Other parameters of Open MPI hold
    // the key and the addresses by which its processes find one another.
    "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_MCA_btl", "OMPI_MCA_btl_*",
    "OMPI_MCA_coll", "OMPI_MCA_coll_*", "OMPI_MCA_hwloc_base_*", "OMPI_MCA_mpi_*", "OMPI_MCA_mtl",
    "OMPI_MCA_mtl_*", "OMPI_MCA_opal_common_ucx_*", "OMPI_MCA_opal_cuda_support",
    "OMPI_MCA_orte_bound_at_launch", "OMPI_MCA_osc", "OMPI_MCA_osc_*", "OMPI_MCA_pml",
    "OMPI_MCA_pml_*", "OMPI_MCA_reachable", "OMPI_MCA_rmaps_base_*", "UCX_*", "FI_*",
    "I_MPI_FABRICS", "I_MPI_PIN", "I_MPI_PIN_*", "MPIR_CVAR_*", "MPICH_*", "MV2_*", "PSM2_*",
    "PSM3_*", "MPI_LOCALNRANKS", "PMI_SIZE",
    // The job of Slurm.
    "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_CLUSTER_NAME", "SLURM_CPUS_ON_NODE",
    "SLURM_CPUS_PER_GPU", "SLURM_CPUS_PER_TASK", "SLURM_CPU_BIND", "SLURM_CPU_BIND_LIST",
    "SLURM_CPU_BIND_TYPE", "SLURM_CPU_FREQ_REQ", "SLURM_DISTRIBUTION", "SLURM_GPUS",
    "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND",
    "SLURM_HINT", "SLURM_JOB_CPUS_PER_NODE", "SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES", "SLURM_JOB_PARTITION", "SLURM_MEM_BIND", "SLURM_MEM_BIND_TYPE",
    "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_NODE", "SLURM_MPI_TYPE", "SLURM_NNODES", "SLURM_NPROCS",
    "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_RESTART_COUNT", "SLURM_STEP_ID",
    "SLURM_STEP_NODELIST", "SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_THREADS_PER_CORE"};

/// Parts of names whose values are secrets, also if the name fits the list above.
constexpr std::string_view kSecret[] = {
    "AUTH",   "COOKIE",     "CREDENTIAL", "JWT",
    "KEY",    "PASSPHRASE", "PASSWORD",   "PRECONDITION_TRANSPORTS",
    "SECRET", "TOKEN"};

bool fits(std::string_view name, std::string_view wanted) {
    if (!wanted.ends_with('*')) return name == wanted;
    wanted.remove_suffix(1);
    return name.starts_with(wanted);
}

}  // namespace

bool is_recorded(std::string_view name) {
    if (std::ranges::none_of(kWanted, [&](std::string_view each) { return fits(name, each); })) {
        return false;
    }
    std::string upper(name);
    for (char& c : upper) {
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return std::ranges::none_of(
        kSecret, [&](std::string_view part) { return upper.find(part) != upper.npos; });
}

std::map<std::string, std::string> recorded_environment(const char* const* environment) {
    std::map<std::string, std::string> variables;
    for (; *environment; ++environment) {
        const char* equals = std::strchr(*environment, '=');
        if (!equals) continue;
        const std::string name(*environment, equals);
        if (is_recorded(name)) variables[name] = equals + 1;
    }
    return variables;
}

}  // namespace dbench::program
