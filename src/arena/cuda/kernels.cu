// Compiles the kernels of this module for CUDA: instantiates on_device for each kernel body and
// element type.

#include "arena/cuda/device_block.cuh"
#include "arena/grid/plain.hpp"
#include "arena/messages/chosen_parts_kernel.hpp"
#include "arena/messages/coded_sums_kernel.hpp"
#include "arena/messages/convert.hpp"
#include "arena/messages/link_matrices_kernel.hpp"
#include "arena/messages/low_rank_parts_kernel.hpp"
#include "arena/messages/message_parts_kernel.hpp"
#include "arena/passes/norm_relu_kernel.hpp"
#include "arena/passes/row_parts_kernel.hpp"
#include "arena/passes/scores_kernel.hpp"
#include "arena/passes/windows_kernel.hpp"
#include "arena/sums/row_factors_kernel.hpp"
#include "arena/sums/squares_kernel.hpp"
#include "arena/sums/tree_moments_kernel.hpp"
#include "arena/sums/tree_sum_kernel.hpp"
#include "arena/sums/weighted_sums_kernel.hpp"
#include "arena/updates/accum_adam_kernel.hpp"
#include "arena/updates/adam_kernel.hpp"
#include "arena/updates/adaptive_kernel.hpp"
#include "arena/updates/qg_adam_kernel.hpp"
#include "arena/updates/sgd_kernel.hpp"
#include "arena/updates/update_and_mix_kernel.hpp"

namespace dbench::arena {

template void on_device(const Sgd<float>&, cudaStream_t);
template void on_device(const Sgd<double>&, cudaStream_t);
template void on_device(const Adam<float>&, cudaStream_t);
template void on_device(const Adam<double>&, cudaStream_t);
template void on_device(const AccumAdam<float>&, cudaStream_t);
template void on_device(const AccumAdam<double>&, cudaStream_t);
template void on_device(const QgAdam<float>&, cudaStream_t);
template void on_device(const QgAdam<double>&, cudaStream_t);
template void on_device(const QgAdamMoments<float>&, cudaStream_t);
template void on_device(const QgAdamMoments<double>&, cudaStream_t);
template void on_device(const Dadam<float>&, cudaStream_t);
template void on_device(const Dadam<double>&, cudaStream_t);
template void on_device(const LargestMoments<float>&, cudaStream_t);
template void on_device(const LargestMoments<double>&, cudaStream_t);
template void on_device(const DescentBySize<float>&, cudaStream_t);
template void on_device(const DescentBySize<double>&, cudaStream_t);
template void on_device(const AdaptiveApproach<float>&, cudaStream_t);
template void on_device(const AdaptiveApproach<double>&, cudaStream_t);
template void on_device(const UpdateAndMix<float, Sgd<float>>&, cudaStream_t);
template void on_device(const UpdateAndMix<double, Sgd<double>>&, cudaStream_t);
template void on_device(const UpdateAndMix<float, Adam<float>>&, cudaStream_t);
template void on_device(const UpdateAndMix<double, Adam<double>>&, cudaStream_t);
template void on_device(const Squares<float>&, cudaStream_t);
template void on_device(const Squares<double>&, cudaStream_t);
template void on_device(const WeightedSums<float>&, cudaStream_t);
template void on_device(const WeightedSums<double>&, cudaStream_t);
template void on_device(const TreeSum<float>&, cudaStream_t);
template void on_device(const TreeSum<double>&, cudaStream_t);
template void on_device(const TreeMoments<float>&, cudaStream_t);
template void on_device(const TreeMoments<double>&, cudaStream_t);
template void on_device(const Convert<Encode, float, uint16_t>&, cudaStream_t);
template void on_device(const Convert<Encode, double, uint16_t>&, cudaStream_t);
template void on_device(const Convert<Decode, uint16_t, float>&, cudaStream_t);
template void on_device(const Convert<Decode, uint16_t, double>&, cudaStream_t);
template void on_device(const Convert<Quantize, float, float>&, cudaStream_t);
template void on_device(const Convert<Quantize, double, double>&, cudaStream_t);
template void on_device(const CodedMean<float>&, cudaStream_t);
template void on_device(const CodedMean<double>&, cudaStream_t);
template void on_device(const CodedShift<float>&, cudaStream_t);
template void on_device(const CodedShift<double>&, cudaStream_t);
template void on_device(const Magnitudes<float>&, cudaStream_t);
template void on_device(const Magnitudes<double>&, cudaStream_t);
template void on_device(const PartNumbers&, cudaStream_t);
template void on_device(const EncodeParts<Whole, float>&, cudaStream_t);
template void on_device(const EncodeParts<Whole, double>&, cudaStream_t);
template void on_device(const EncodeParts<Halves, float>&, cudaStream_t);
template void on_device(const EncodeParts<Halves, double>&, cudaStream_t);
template void on_device(const EncodeParts<Signs, float>&, cudaStream_t);
template void on_device(const EncodeParts<Signs, double>&, cudaStream_t);
template void on_device(const EncodeParts<Levels, float>&, cudaStream_t);
template void on_device(const EncodeParts<Levels, double>&, cudaStream_t);
template void on_device(const EncodeParts<Residues, float>&, cudaStream_t);
template void on_device(const EncodeParts<Residues, double>&, cudaStream_t);
template void on_device(const ApproachResidues<float>&, cudaStream_t);
template void on_device(const ApproachResidues<double>&, cudaStream_t);
template void on_device(const AddCounts&, cudaStream_t);
template void on_device(const AddParts<Whole, float>&, cudaStream_t);
template void on_device(const AddParts<Whole, double>&, cudaStream_t);
template void on_device(const AddParts<Halves, float>&, cudaStream_t);
template void on_device(const AddParts<Halves, double>&, cudaStream_t);
template void on_device(const AddParts<Signs, float>&, cudaStream_t);
template void on_device(const AddParts<Signs, double>&, cudaStream_t);
template void on_device(const AddParts<Levels, float>&, cudaStream_t);
template void on_device(const AddParts<Levels, double>&, cudaStream_t);
template void on_device(const FindDigit&, cudaStream_t);
template void on_device(const CountDigits<float>&, cudaStream_t);
template void on_device(const CountDigits<double>&, cudaStream_t);
template void on_device(const CountChosen<float>&, cudaStream_t);
template void on_device(const CountChosen<double>&, cudaStream_t);
template void on_device(const WriteChosen<float>&, cudaStream_t);
template void on_device(const WriteChosen<double>&, cudaStream_t);
template void on_device(const GatherChosen<float>&, cudaStream_t);
template void on_device(const GatherChosen<double>&, cudaStream_t);
template void on_device(const AddChosen<float>&, cudaStream_t);
template void on_device(const AddChosen<double>&, cudaStream_t);
template void on_device(const RowProducts<float>&, cudaStream_t);
template void on_device(const RowProducts<double>&, cudaStream_t);
template void on_device(const Orthonormalise<float>&, cudaStream_t);
template void on_device(const Orthonormalise<double>&, cudaStream_t);
template void on_device(const ColumnProducts<float>&, cudaStream_t);
template void on_device(const ColumnProducts<double>&, cudaStream_t);
template void on_device(const AddLowRank<float>&, cudaStream_t);
template void on_device(const AddLowRank<double>&, cudaStream_t);
template void on_device(const NormaliseVectors<float>&, cudaStream_t);
template void on_device(const NormaliseVectors<double>&, cudaStream_t);
template void on_device(const LinkRowProducts<float>&, cudaStream_t);
template void on_device(const LinkRowProducts<double>&, cudaStream_t);
template void on_device(const LinkColumnProducts<float>&, cudaStream_t);
template void on_device(const LinkColumnProducts<double>&, cudaStream_t);
template void on_device(const FindVectors<float>&, cudaStream_t);
template void on_device(const FindVectors<double>&, cudaStream_t);
template void on_device(const ApproachOverLinks<float>&, cudaStream_t);
template void on_device(const ApproachOverLinks<double>&, cudaStream_t);
template void on_device(const FillParts<float>&, cudaStream_t);
template void on_device(const FillParts<double>&, cudaStream_t);
template void on_device(const Score<float>&, cudaStream_t);
template void on_device(const Score<double>&, cudaStream_t);
template void on_device(const NormMoments<float>&, cudaStream_t);
template void on_device(const NormMoments<double>&, cudaStream_t);
template void on_device(const ScaleRelu<float>&, cudaStream_t);
template void on_device(const ScaleRelu<double>&, cudaStream_t);
template void on_device(const NormGradientSums<float>&, cudaStream_t);
template void on_device(const NormGradientSums<double>&, cudaStream_t);
template void on_device(const NormInputGradient<float>&, cudaStream_t);
template void on_device(const NormInputGradient<double>&, cudaStream_t);
template void on_device(const GatherWindows<float>&, cudaStream_t);
template void on_device(const GatherWindows<double>&, cudaStream_t);
template void on_device(const Zero<float>&, cudaStream_t);
template void on_device(const Zero<double>&, cudaStream_t);
template void on_device(const Copy<float>&, cudaStream_t);
template void on_device(const Copy<double>&, cudaStream_t);
template void on_device(const Scale<float>&, cudaStream_t);
template void on_device(const Scale<double>&, cudaStream_t);
template void on_device(const NormFactors&, cudaStream_t);
template void on_device(const ScaleEach<float>&, cudaStream_t);
template void on_device(const ScaleEach<double>&, cudaStream_t);

}  // namespace dbench::arena
