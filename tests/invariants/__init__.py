"""Invariants of mechanics by number: a named test each, at the tolerance that it states.

The errors are relative to max(1, ‖expected‖), sample by sample; eps is float64's, n the number of degrees of freedom,
cond the condition number of the mass matrix.  What is solved with the mass matrix has its stated tolerance up to
cond = 1e5, and cond · eps · n above.  Every test runs over all trees of `oracles.trees` (every joint type alone and
mixed, chains, stars, couplings, other roots), trees of joints that users wrote, and all robots of
`oracles.example_robots`, but where it says which.
The last column says where else the same is asked: of compiled code, of other libraries, of more views.

    ====  ===========================================  =================  ==========================================
    no.   what                                         tolerance          also in
    ====  ===========================================  =================  ==========================================
     9    FK, products of homogeneous matrices         1e-13              kinematics/test_kinematics
    10    J v, the frame's velocity                    1e-12              kinematics/test_relative_kinematics
    11    J, the pose's derivative                     1e-8, exact 1e-12
    12    J̇ v + J a, the frame's acceleration          1e-10, 1e-7
    13    a turn by 2π                                 1e-12
    15    ID(FD(τ)) = τ                                1e-12
    16    FD(ID(a)) = a                                10 cond eps n      dynamics/test_dynamics, test_coupled
    17    M, columns of ID                             10 eps n
    18    M symmetric, positive definite               exact
    19    ½ vᵀ M v, the bodies' kinetic energy         1e-12
    20    h = C v + g                                  1e-12
    21    Ṁ = C + Cᵀ                                   1e-8, exact 1e-12
    22    g = ∂PE/∂q                                   1e-8, exact 1e-12
    23    M⁻¹ M = 1                                    cond eps n
    24    FD = M⁻¹ (τ − h)                             2 cond eps n
    25    d(KE + PE)/dt = vᵀ τ                         1e-6, exact 1e-12
    26    wrenches act as Jᵀ w                         1e-11
    27    ḣ, wrenches and weight; free fall            1e-10, 1e-12       dynamics/test_free_motion
    28    ID = Y π                                     1e-12
    29    affine in a, quadratic in v                  1e-11
    30    derivatives of ID and FD                     1e-7, exact 1e-11  dynamics/derivatives
    31    M + diag(armature)                           exact
    32    Gᵀ M G, Gᵀ τ                                 1e-12              dynamics/test_coupled
    33    other names, another order                   1e-13
    34    split by fixed joints                        1e-12              dynamics/test_metamorphic
    35    another root                                 1e-11              model/test_reroot
    36    axes the other way round                     1e-13
    37    the world turned                             1e-12
    38    dimensions                                   1e-12
    39    a massless frame                             to the bit         dynamics/test_metamorphic
    40    sliders and a ball, a floating joint         1e-10
    41    revolute and continuous                      to the bit
    ====  ===========================================  =================  ==========================================

9 to 13 are in `test_kinematics`, 15 to 32 in `test_dynamics`, 33 to 41 in `test_metamorphic`.
"""
